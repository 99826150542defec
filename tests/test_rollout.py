"""Rollouts: trials equal plain Python, luck is fair, and small races have the answers they must have."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from nets import random_net
from oracles import moves as plain
from oracles import rollout as oracle

from engine.board import START, Board, flip, make_board
from engine.errors import InputError
from engine.evaluator import Evaluator, Nets
from engine.kernels.network import ONE
from engine.outcome import is_consistent
from engine.rollout import ROW, Candidate, Roller, RolloutSettings, TrialRows
from engine.rules import INTERNATIONAL, TAVLA, RuleSet, rule_set
from engine.tally import Tally

NET = random_net(4)
plain_settings = partial(RolloutSettings, bearoff=False)
"""Every game is played to its end, as the oracle does; `test_rollout_bearoff` has the databases."""
ROLLER = Roller(Nets(NET))
EVALUATOR = Evaluator(Nets(NET))


def small(own: dict[int, int], other: dict[int, int]) -> Board:
    """A board from counts, each side's points in its own numbering."""
    counts = [0] * 26
    for point, count in own.items():
        counts[point] += count
    for point, count in other.items():
        counts[25 - point] -= count
    return make_board(counts)


def values(plays: list[plain.Position]) -> list[oracle.Outcome]:
    """The network's outcomes of after-positions."""
    found = EVALUATOR.after_positions(np.array(plays, dtype=np.int8))
    return [tuple(int(p) for p in outcome) for outcome in found]


def policy(rules: RuleSet) -> oracle.Policy:
    """What both sides play by."""
    return oracle.Policy(values, [int(w) for w in rules.utility], rules)


def as_position(board: Board) -> plain.Position:
    """For the oracles."""
    return tuple(int(count) for count in board)


def plain_rows(candidate: Candidate, settings: RolloutSettings, numbers: range) -> list[list[int]]:
    """The oracle's trials."""
    return [
        oracle.trial(
            as_position(candidate.board),
            candidate.mover_rolls,
            settings.seed,
            number,
            settings.truncate,
            settings.variance_reduction,
            policy(settings.rules),
        )
        for number in numbers
    ]


def tally(rows: TrialRows, rules: RuleSet = INTERNATIONAL) -> Tally:
    """Of one candidate."""
    return Tally.of([rows], rules)


CONTACT = small({25: 1, 13: 2, 8: 2, 6: 4, 5: 2, 3: 2}, {24: 1, 13: 3, 8: 3, 6: 4, 4: 2})
ENDING = small({6: 2, 4: 1, 2: 1}, {22: 1, 5: 1, 3: 2})  # one checker behind: shots, then a race
BEAR_OFF = small({5: 1, 3: 2, 2: 1}, {6: 1, 4: 1, 1: 2})


# Against the oracle


@pytest.mark.parametrize("variance_reduction", [True, False])
@pytest.mark.parametrize("after_play", [False, True], ids=["before the roll", "after a play"])
@pytest.mark.parametrize("rules", [INTERNATIONAL, TAVLA], ids=lambda rules: rules.name)
def test_trials_to_the_end_equal_the_oracle(rules: RuleSet, after_play: bool, variance_reduction: bool) -> None:
    settings = plain_settings(rules, seed=3, variance_reduction=variance_reduction)
    candidate = Candidate.after_play(flip(BEAR_OFF)) if after_play else Candidate.before_roll(BEAR_OFF)
    rows = ROLLER.trials(candidate, settings, 100, 4)
    assert rows.tolist() == plain_rows(candidate, settings, range(100, 104))
    assert bool(rows[:, 5:].any()) is variance_reduction


@pytest.mark.parametrize(
    "rules", [INTERNATIONAL, rule_set("tavla+hit-and-run-ban+forced-bear-off")], ids=["plain", "options"]
)
def test_trials_with_hits_equal_the_oracle(rules: RuleSet) -> None:
    settings = plain_settings(rules, seed=8)
    candidate = Candidate.before_roll(ENDING)
    rows = ROLLER.trials(candidate, settings, 0, 3)
    assert rows.tolist() == plain_rows(candidate, settings, range(3))


@pytest.mark.parametrize(("truncate", "board"), [(1, START), (2, CONTACT), (3, CONTACT)])
def test_truncated_trials_equal_the_oracle(truncate: int, board: Board) -> None:
    for candidate in (Candidate.before_roll(board), Candidate.after_play(board)):
        settings = plain_settings(INTERNATIONAL, seed=5, truncate=truncate)
        assert ROLLER.trials(candidate, settings, 71, 2).tolist() == plain_rows(candidate, settings, range(71, 73))


def test_long_truncated_trials_without_luck_equal_the_oracle() -> None:
    settings = plain_settings(INTERNATIONAL, seed=6, truncate=40, variance_reduction=False)
    candidate = Candidate.before_roll(START)
    assert ROLLER.trials(candidate, settings, 9, 3).tolist() == plain_rows(candidate, settings, range(9, 12))


# Trials as pure functions


@pytest.mark.parametrize("settings", [plain_settings(INTERNATIONAL, truncate=5), plain_settings(TAVLA, seed=2)])
def test_a_trial_does_not_depend_on_the_range_it_is_computed_in(settings: RolloutSettings) -> None:
    candidate = Candidate.before_roll(CONTACT)
    whole = ROLLER.trials(candidate, settings, 30, 12)
    assert len({row.tobytes() for row in whole}) > 6
    cut = [Roller(Nets(NET)).trials(candidate, settings, first, n) for first, n in ((35, 7), (30, 2), (32, 3))]
    assert np.concatenate([cut[1], cut[2], cut[0]]).tobytes() == whole.tobytes()
    for i in (11, 0, 5):
        assert ROLLER.trials(candidate, settings, 30 + i, 1)[0].tobytes() == whole[i].tobytes()
    assert whole.dtype == np.int32
    assert whole.shape == (12, ROW)


@pytest.mark.parametrize("level", [1, 2])
def test_what_a_roller_has_played_before_changes_no_trial(level: int) -> None:
    # A roller remembers the first half-moves of candidates: every setting here shares the board with the others.
    roller = Roller(Nets(NET))
    questions = [
        (candidate, plain_settings(rules, seed=seed, level=level, truncate=truncate, variance_reduction=reduce))
        for candidate in (Candidate.before_roll(CONTACT), Candidate(CONTACT, mover_rolls=False))
        for rules in (INTERNATIONAL, TAVLA, rule_set("tavla+hit-and-run-ban"))
        for seed, truncate, reduce in ((1, 1, True), (2, 2, True), (1, 2, False), (1, 1, False), (2, 1, True))
    ]
    for candidate, settings in (*questions, *reversed(questions)):
        expected = Roller(Nets(NET)).trials(candidate, settings, 30, 3)
        assert roller.trials(candidate, settings, 30, 3).tobytes() == expected.tobytes()


def test_other_seeds_and_nets_give_other_trials() -> None:
    candidate = Candidate.before_roll(CONTACT)
    rows = [ROLLER.trials(candidate, plain_settings(INTERNATIONAL, seed=s, truncate=4), 0, 20) for s in range(3)]
    rows.append(Roller(Nets(random_net(9))).trials(candidate, plain_settings(INTERNATIONAL, seed=0, truncate=4), 0, 20))
    assert len({part.tobytes() for part in rows}) == 4


def test_trials_leave_the_candidate_alone() -> None:
    board = np.array(CONTACT)
    candidate = Candidate.before_roll(board)
    ROLLER.trials(candidate, plain_settings(INTERNATIONAL, truncate=4), 0, 5)
    assert candidate.board.tolist() == board.tolist() == CONTACT.tolist()


def test_no_trials_are_no_rows() -> None:
    assert ROLLER.trials(Candidate.before_roll(START), plain_settings(INTERNATIONAL), 0, 0).shape == (0, ROW)


def test_both_views_of_the_same_trials_mirror_each_other() -> None:
    settings = plain_settings(INTERNATIONAL, truncate=7)
    mover = ROLLER.trials(Candidate.before_roll(CONTACT), settings, 0, 72).astype(int)
    opponent = ROLLER.trials(Candidate.after_play(flip(CONTACT)), settings, 0, 72).astype(int)
    assert opponent[:, 0].tolist() == (ONE - mover[:, 0]).tolist()
    assert opponent[:, 1:5].tolist() == mover[:, [3, 4, 1, 2]].tolist()
    assert opponent[:, 5].tolist() == (-mover[:, 5]).tolist()
    assert opponent[:, 6:].tolist() == mover[:, [8, 9, 6, 7]].tolist()


def test_outcomes_of_trials_are_consistent() -> None:
    rows = ROLLER.trials(Candidate.before_roll(CONTACT), plain_settings(INTERNATIONAL, truncate=6), 0, 100)
    assert is_consistent(rows[:, :5] / ONE, tolerance=0.0)
    finished = ROLLER.trials(
        Candidate.before_roll(CONTACT), plain_settings(INTERNATIONAL, variance_reduction=False), 0, 100
    )
    assert is_consistent(finished[:, :5] / ONE, tolerance=0.0)
    assert set(np.unique(finished[:, :5]).tolist()) == {0, ONE}


# Luck


@pytest.mark.parametrize("board", [START, CONTACT, ENDING], ids=["start", "contact", "ending"])
def test_luck_of_the_first_rolls_sums_to_zero(board: Board) -> None:
    rows = ROLLER.trials(Candidate.before_roll(board), plain_settings(INTERNATIONAL, truncate=1), 36, 36)
    assert np.abs(rows[:, 5:].astype(int)).max() > 1000
    assert np.abs(rows[:, 5:].astype(int).sum(axis=0)).max() <= 18  # 36 roundings of at most a half


@pytest.mark.parametrize("board", [START, CONTACT, ENDING], ids=["start", "contact", "ending"])
def test_without_the_luck_of_its_roll_every_trial_of_one_half_move_is_the_mean(board: Board) -> None:
    rows = ROLLER.trials(Candidate.before_roll(board), plain_settings(INTERNATIONAL, truncate=1), 0, 36).astype(int)
    reduced = rows[:, :5] - rows[:, 5:]
    assert np.abs(reduced - rows[:, :5].mean(axis=0)).max() <= 0.5 + 1e-6
    assert rows[:, 0].std() > 1000


@pytest.mark.parametrize("board", [CONTACT, ENDING], ids=["contact", "ending"])
@pytest.mark.parametrize("after_play", [False, True], ids=["before the roll", "after a play"])
def test_mean_luck_is_within_three_standard_errors_of_zero(board: Board, after_play: bool) -> None:
    candidate = Candidate.after_play(board) if after_play else Candidate.before_roll(board)
    luck = tally(ROLLER.trials(candidate, plain_settings(INTERNATIONAL, seed=1, truncate=8), 0, 720)).luck(0)
    assert luck.se > 0.001
    assert abs(luck.mean) < 3 * luck.se


@pytest.mark.parametrize("truncate", [4, None])
def test_variance_reduction_changes_the_error_and_not_the_answer(truncate: int | None) -> None:
    candidate = Candidate.before_roll(ENDING)
    on, off = (
        tally(ROLLER.trials(candidate, plain_settings(INTERNATIONAL, 1, 1, truncate, reduce), first, 1296))
        for reduce, first in ((True, 0), (False, 1296))
    )
    combined = (on.equity(0).se ** 2 + off.equity(0).se ** 2) ** 0.5
    assert abs(on.equity(0).mean - off.equity(0).mean) < 4 * combined
    assert off.luck(0).mean == off.luck(0).se == 0.0


def test_variance_reduction_only_subtracts_luck_from_the_same_trials() -> None:
    candidate = Candidate.before_roll(CONTACT)
    on, off = (
        ROLLER.trials(candidate, plain_settings(INTERNATIONAL, truncate=9, variance_reduction=reduce), 0, 50)
        for reduce in (True, False)
    )
    assert on[:, :5].tolist() == off[:, :5].tolist()
    assert not off[:, 5:].any()


# Known answers


def wins_at_once(board: Board, rules: RuleSet) -> Fraction:
    """Part of the 36 rolls that can bear off everything now, by trying all legal plays."""
    wins = 0
    for high, low in plain.ROLLS:
        plays = plain.legal_after_positions(as_position(board), (high, low), rules)
        wins += (1 if high == low else 2) * any(plain.own_checkers(play) == 0 for play in plays)
    return Fraction(wins, 36)


FIVE_AND_TWO = small({5: 1, 2: 1}, {1: 1})


def test_a_race_of_one_roll_is_exact_after_36_trials() -> None:
    assert wins_at_once(FIVE_AND_TWO, INTERNATIONAL) == Fraction(19, 36)
    settings = plain_settings(INTERNATIONAL, variance_reduction=False)
    rows = ROLLER.trials(Candidate.before_roll(FIVE_AND_TWO), settings, 360, 36)
    assert int(rows[:, 0].sum()) == 19 * ONE
    assert not rows[:, 1:].any()
    # Plus 19, minus 17 points in 36 games.
    assert tally(rows).equity(0).mean == pytest.approx(2 / 36, abs=1e-12)


def test_the_same_race_seen_after_a_play_is_the_opposite() -> None:
    settings = plain_settings(INTERNATIONAL, variance_reduction=False)
    rows = ROLLER.trials(Candidate.after_play(flip(FIVE_AND_TWO)), settings, 0, 36)
    assert int(rows[:, 0].sum()) == 17 * ONE


def test_variance_reduction_keeps_the_exact_answer_of_a_race_of_one_roll() -> None:
    # The second roll always wins, so all luck is in the first, where the 36 trials balance.
    rows = ROLLER.trials(Candidate.before_roll(FIVE_AND_TWO), plain_settings(INTERNATIONAL), 0, 36).astype(int)
    assert np.abs(rows[:, 5]).max() > 1000
    assert abs(int((rows[:, 0] - rows[:, 5]).sum()) - 19 * ONE) <= 18


def test_a_race_decided_by_two_rolls_is_exact_after_1296_trials() -> None:
    # Bearing off is forced here, so the first roll leaves at most two small checkers and the third roll always wins:
    # the mover wins unless his first roll doesn't end the game and the opponent's does.
    rules = rule_set("tavla+forced-bear-off")
    board = small({3: 1, 2: 1, 1: 1}, {5: 1, 2: 1})
    now = wins_at_once(board, rules)
    then = wins_at_once(FIVE_AND_TWO, rules)
    assert (now, then) == (Fraction(5, 36), Fraction(19, 36))
    settings = plain_settings(rules, variance_reduction=False)
    rows = ROLLER.trials(Candidate.before_roll(board), settings, 1296, 1296)
    assert int(rows[:, 0].sum()) == 1296 * (now + (1 - now) * (1 - then)) * ONE
    assert not rows[:, 1:5].any()


@pytest.mark.parametrize("variance_reduction", [True, False])
@pytest.mark.parametrize(
    "board",
    [small({6: 1, 3: 1}, {5: 1, 2: 1}), small({4: 2, 1: 1}, {6: 1, 4: 1}), small({5: 2, 2: 1}, {3: 2, 1: 1})],
    ids=["two each", "three against two", "three each"],
)
def test_small_endings_agree_with_the_expectation_over_all_dice(board: Board, variance_reduction: bool) -> None:
    exact = oracle.exact_outcome(as_position(board), policy(INTERNATIONAL), {})
    settings = plain_settings(INTERNATIONAL, variance_reduction=variance_reduction)
    found = tally(ROLLER.trials(Candidate.before_roll(board), settings, 0, 4 * 1296)).outcome(0)
    for estimate, value in zip(found, exact, strict=True):
        assert abs(estimate.mean - float(value) / ONE) <= 4 * estimate.se + 1e-6


# Questions that can't be asked


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"seed": -1}, "seed"),
        ({"seed": 2**63}, "seed"),
        ({"level": 0}, "level"),
        ({"level": 3}, "level"),
        ({"truncate": 0}, "truncate"),
        ({"truncate": -3}, "truncate"),
        ({"truncate": 1001}, "truncate"),
    ],
)
def test_impossible_settings_are_refused_by_name(wrong: dict[str, int], field: str) -> None:
    with pytest.raises(InputError, match=field) as caught:
        RolloutSettings(INTERNATIONAL, **wrong)  # type: ignore[arg-type]
    assert caught.value.field == field
