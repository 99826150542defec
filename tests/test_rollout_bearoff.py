"""Rollouts and searches that meet the bear-off databases."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from nets import random_filter, random_net
from oracles import moves as plain
from oracles import rollout as trial_oracle
from oracles import search as search_oracle
from oracles.rollout import Outcome

from cluster.cli.options import chosen_nets
from engine.bearoff import NO_DATABASES, Bearoff, open_databases
from engine.board import Board, flip, make_board
from engine.errors import InternalError
from engine.evaluator import INNER_PLAYS, Evaluator, Nets
from engine.kernels.bearoff import outcomes_of
from engine.kernels.network import ONE
from engine.rollout import Candidate, Roller, RolloutSettings
from engine.rules import HYPERGAMMON, INTERNATIONAL, RuleSet, rule_set
from engine.tally import Tally
from workers.rollout import RolloutWorker
from workers.tasks import RolloutTask

NETS = Nets(random_net(4), random_filter(1))
FORCED = rule_set("international+forced-bear-off")

# Before the roll: one step from the databases, a race that is home soon, and bear-offs with and without gammons.
NEARLY_HOME = make_board([0, 1, 0, 0, 1, 1, 1, 1] + [0] * 12 + [0, -2, 0, -1, -1, 0])
RACE = make_board([0, 0, 0, 1, 0, 2, 2, 1, 1] + [0] * 7 + [-1, -1, 0, -2, -1, -1, 0, -1, 0, 0])
GAMMONISH = make_board([0, 2] + [0] * 17 + [-15] + [0] * 6)
THREE_EACH = make_board([0, 3] + [0] * 17 + [-3] + [0] * 6)
ALL_HOME = make_board([0, 3, 3, 3, 2, 2, 2] + [0] * 12 + [-2, -2, -2, -3, -3, -3, 0])


def as_position(board: Board) -> plain.Position:
    """For the oracles."""
    return tuple(int(count) for count in board)


class Known:
    """The databases and the net behind them, as functions of positions."""

    def __init__(self, databases: Bearoff, nets: Nets) -> None:
        self._arrays = databases.arrays
        self._net = Evaluator(nets)

    def look_up(self, plays: list[plain.Position]) -> tuple[list[list[int]], list[bool]]:
        """(outcomes, known)."""
        boards = np.array(plays, dtype=np.int8).reshape(-1, 26)
        found = np.zeros((len(plays), 5), dtype=np.int64)
        known = np.zeros(len(plays), dtype=np.bool_)
        outcomes_of(boards, self._arrays, found, known)
        return found.tolist(), known.tolist()

    def holds(self, position: plain.Position) -> bool:
        """Whether they know a position."""
        return self.look_up([position])[1][0]

    def values(self, plays: list[plain.Position]) -> list[Outcome]:
        """Exact outcomes where there are, else the net's."""
        exact, known = self.look_up(plays)
        by_net = self._net.after_positions(np.array(plays, dtype=np.int8).reshape(-1, 26)).tolist()
        return [tuple(e if k else n) for e, k, n in zip(exact, known, by_net, strict=True)]


def oracle_rows(known: Known, candidate: Candidate, seed: int, numbers: range) -> list[list[int]]:
    """Trials with the main net alone."""
    utility = [int(w) for w in INTERNATIONAL.utility]
    policy = search_oracle.Searcher(known.values, None, 0, utility, INTERNATIONAL, known.holds)
    return [
        trial_oracle.trial(
            as_position(candidate.board), candidate.mover_rolls, seed, n, None, True, policy, None, known.holds
        )
        for n in numbers
    ]


@pytest.mark.parametrize("board", [NEARLY_HOME, RACE], ids=["nearly home", "race"])
@pytest.mark.parametrize("after_play", [False, True], ids=["before the roll", "after a play"])
def test_trials_end_in_the_databases_with_their_exact_outcome(
    databases: Bearoff, board: Board, after_play: bool
) -> None:
    nets = Nets(NETS.main)
    candidate = Candidate.after_play(flip(board)) if after_play else Candidate.before_roll(board)
    settings = RolloutSettings(INTERNATIONAL, seed=5)
    rows = Roller(nets, databases.arrays).trials(candidate, settings, 20, 6)
    assert rows.tolist() == oracle_rows(Known(databases, nets), candidate, 5, range(20, 26))
    assert not set(rows[:, 0].tolist()) <= {0, ONE}  # no game was played out


@pytest.mark.parametrize("board", [ALL_HOME, GAMMONISH], ids=["all home", "gammonish"])
@pytest.mark.parametrize("level", [1, 2])
def test_a_bear_off_is_settled_without_a_roll(databases: Bearoff, board: Board, level: int) -> None:
    known = Known(databases, NETS)
    after, before = as_position(board), plain.turned_round(as_position(board))
    roller = Roller(NETS, databases.arrays)
    settings = RolloutSettings(INTERNATIONAL, seed=5, level=level)
    # After a play that led here, and before the roll of a player who came here: the opponent moved last.
    (outcome, opponents), _ = known.look_up([after, before])
    assert roller.trials(Candidate.after_play(board), settings, 0, 3).tolist() == [[*outcome, 0, 0, 0, 0, 0]] * 3
    win, gammon, backgammon, lose_gammon, lose_backgammon = opponents
    turned = [ONE - win, lose_gammon, lose_backgammon, gammon, backgammon, 0, 0, 0, 0, 0]
    assert roller.trials(Candidate.before_roll(board), settings, 0, 3).tolist() == [turned] * 3
    assert bool(outcome[1]) is (board is GAMMONISH)


@pytest.mark.parametrize("bearoff", [True, False])
def test_a_play_that_wins_is_settled_without_a_roll(databases: Bearoff, bearoff: bool) -> None:
    won = np.array([0] * 19 + [-3, -3, -3, -2, -2, -2, 0], dtype=np.int8)
    settings = RolloutSettings(INTERNATIONAL, seed=5, bearoff=bearoff)
    rows = Roller(NETS, databases.arrays).trials(Candidate.after_play(won), settings, 0, 2)
    assert rows.tolist() == [[ONE, ONE, 0, 0, 0, 0, 0, 0, 0, 0]] * 2


def test_a_larger_two_sided_database_is_another_question_with_other_bits(session_home: Path) -> None:
    # Four checkers a side: beyond the smaller table separate races answer, within the larger one best play by both,
    # which is another thing when one side has to hurry.
    board = make_board([0, 0, 0, 0, 2, 0, 2] + [0] * 12 + [-1, -1, 0, 0, -1, -1, 0])
    worker = RolloutWorker(NETS.integers())
    rows = {}
    for checkers in (3, 4):
        settings = RolloutSettings(INTERNATIONAL, seed=5, bearoff_checkers=checkers)
        task = RolloutTask(settings, (Candidate.before_roll(board),), ("series",), 0, 36)
        rows[checkers] = worker.run(task).rows[0].tolist()
    assert rows[3] != rows[4]


def test_small_databases_are_met_later_than_full_ones(databases: Bearoff, tmp_path: object) -> None:
    nets = Nets(NETS.main)
    few = open_databases(tmp_path, checkers=3, two_sided_checkers=2)  # type: ignore[arg-type]
    candidate = Candidate.before_roll(NEARLY_HOME)
    rows = Roller(nets, few.arrays).trials(candidate, RolloutSettings(INTERNATIONAL, seed=5), 0, 6)
    assert rows.tolist() == oracle_rows(Known(few, nets), candidate, 5, range(6))
    full = Roller(nets, databases.arrays).trials(candidate, RolloutSettings(INTERNATIONAL, seed=5), 0, 6)
    assert rows.tolist() != full.tolist()


@pytest.mark.parametrize("level", [1, 2])
def test_with_and_without_databases_a_race_has_the_same_answer(databases: Bearoff, level: int) -> None:
    # The shipped nets: random ones would play worse than the databases suppose.
    nets = chosen_nets(None)
    roller = Roller(nets, databases.arrays)
    estimates = []
    for bearoff, first in ((True, 0), (False, 3600)):
        settings = RolloutSettings(INTERNATIONAL, seed=2, level=level, bearoff=bearoff)
        rows = roller.trials(Candidate.before_roll(RACE), settings, first, 720 if level == 1 else 144)
        tally = Tally.of([rows], INTERNATIONAL)
        estimates.append((tally.equity(0), tally.outcome(0)[0]))
    for on, off in zip(*estimates, strict=True):
        assert abs(on.mean - off.mean) <= 4 * (on.se**2 + off.se**2) ** 0.5
        assert on.se < off.se


def test_with_databases_the_error_of_a_bear_off_is_next_to_nothing(databases: Bearoff) -> None:
    roller = Roller(chosen_nets(None), databases.arrays)
    rows = roller.trials(Candidate.before_roll(ALL_HOME), RolloutSettings(INTERNATIONAL), 0, 72)
    assert Tally.of([rows], INTERNATIONAL).equity(0).se < 1e-6


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize(("rules", "board"), [(FORCED, NEARLY_HOME), (HYPERGAMMON, THREE_EACH)])
def test_where_the_databases_do_not_hold_they_are_never_used(
    databases: Bearoff, rules: RuleSet, board: Board, level: int
) -> None:
    settings = RolloutSettings(rules, seed=4, level=level)
    assert not settings.uses_bearoff
    candidate = Candidate.before_roll(board)
    with_them = Roller(NETS, databases.arrays).trials(candidate, settings, 0, 8)
    assert with_them.tolist() == Roller(NETS).trials(candidate, settings, 0, 8).tolist()
    assert set(with_them[:, 0].tolist()) <= {0, ONE}
    assert with_them[:, :5].any(axis=0)[[1, 3]].any() == (rules is HYPERGAMMON)  # every second throw leaves all three
    evaluator = Evaluator(NETS, databases.arrays)
    assert evaluator.engine(FORCED).bearoff is NO_DATABASES
    for deep in (1, 2, 3):
        found = evaluator.after_position(ALL_HOME, FORCED, deep)
        assert found.tolist() == Evaluator(NETS).after_position(ALL_HOME, FORCED, deep).tolist()


def test_switched_off_databases_are_never_used(databases: Bearoff) -> None:
    settings = RolloutSettings(INTERNATIONAL, seed=4, bearoff=False)
    candidate = Candidate.before_roll(NEARLY_HOME)
    rows = Roller(NETS, databases.arrays).trials(candidate, settings, 0, 8)
    assert rows.tolist() == Roller(NETS).trials(candidate, settings, 0, 8).tolist()


def test_trials_that_need_databases_that_are_not_there_are_our_fault() -> None:
    with pytest.raises(InternalError, match="bear-off databases"):
        Roller(NETS).trials(Candidate.before_roll(RACE), RolloutSettings(INTERNATIONAL), 0, 1)


@pytest.mark.parametrize("board", [NEARLY_HOME, ALL_HOME], ids=["nearly home", "all home"])
@pytest.mark.parametrize("rules", [INTERNATIONAL, rule_set("tavla")], ids=lambda rules: rules.name)
def test_a_search_takes_exact_values_where_there_are_some(databases: Bearoff, board: Board, rules: RuleSet) -> None:
    nets = Nets(NETS.main)
    known = Known(databases, nets)
    after = flip(board)
    searcher = search_oracle.Searcher(
        known.values, None, INNER_PLAYS, [int(w) for w in rules.utility], rules, known.holds
    )
    evaluator = Evaluator(nets, databases.arrays)
    for level in (1, 2):
        expected = searcher.value(as_position(after), level)
        assert tuple(evaluator.after_position(after, rules, level).tolist()) == expected
        if known.holds(as_position(after)) and level == 1:
            assert expected == tuple(known.look_up([as_position(after)])[0][0])
