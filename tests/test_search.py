"""Looking ahead: values equal plain recursion, and plays are ranked by the level they reached."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from kernels import play_made
from nets import random_filter, random_net
from oracles import moves as plain
from oracles import rollout as trial_oracle
from oracles import search as oracle
from oracles.rollout import Outcome, Values

from cluster.filters import known_filters, load_filter
from engine.board import START, Board, borne_off, flip, make_board
from engine.errors import InputError, InternalError
from engine.evaluator import INNER_PLAYS, LUCK_PLAYS, Evaluator, Nets, valuation
from engine.kernels.filter import filter_boards
from engine.kernels.memory import recall, remember, slot_of
from engine.kernels.network import ONE
from engine.rollout import LEVEL_2_MARGIN, LEVEL_2_PLAYS, Candidate, Roller, RolloutSettings
from engine.rules import INTERNATIONAL, RuleSet, rule_set
from engine.scratch import make_memory
from engine.search import FilterStep, MoveFilter, RankedPlay, rank_plays
from engine.weights import make_net, quantise_filter

MAIN = random_net(4)
FILTER = random_filter(2)
PAIRS = {"main net alone": Nets(MAIN), "with filter net": Nets(MAIN, FILTER)}
OPTIONS = rule_set("tavla+hit-and-run-ban+forced-bear-off")

# After-positions, view of the player who just moved.
SHOTS = make_board([0, 0, 1, 0, 1, 0, 2, 0, 0, 0] + [0] * 10 + [0, -1, 0, -2, -1, 0])
LAST_FEW = make_board([0, 1, 0, 1] + [0] * 17 + [0, -1, 0, -1, 0])
ON_THE_BAR = make_board([-1, 2, 2, 2, 2, 2, 2, 0, 1] + [0] * 11 + [-2, -3, -2, 0, 0, 1])
WON = np.array([0, 0, 0, -1] + [0] * 15 + [-3, -3, -2, -2, -2, -2, 0], dtype=np.int8)


def as_position(board: Board) -> plain.Position:
    """For the oracles."""
    return tuple(int(count) for count in board)


def main_values(evaluator: Evaluator) -> Values:
    """The main net alone, as a function."""

    def values(plays: list[plain.Position]) -> list[Outcome]:
        found = evaluator.after_positions(np.array(plays, dtype=np.int8).reshape(-1, 26))
        return [tuple(outcome) for outcome in found.tolist()]

    return values


def filter_values(evaluator: Evaluator) -> Values | None:
    """The filter net alone, as a function (see `test_filter`)."""
    net = evaluator.nets.filter
    if net is None:
        return None
    weights = quantise_filter(net)

    def values(plays: list[plain.Position]) -> list[Outcome]:
        found = np.zeros((len(plays), 5), dtype=np.int64)
        boards = np.array(plays, dtype=np.int8).reshape(-1, 26)
        filter_boards(boards, weights, evaluator.workspaces[0].filter, found)
        return [tuple(outcome) for outcome in found.tolist()]

    return values


def searcher(nets: Nets, rules: RuleSet = INTERNATIONAL, keep: int = INNER_PLAYS) -> oracle.Searcher:
    """The oracle with these nets."""
    evaluator = Evaluator(nets)
    utility = [int(w) for w in rules.utility]
    return oracle.Searcher(main_values(evaluator), filter_values(evaluator), keep, utility, rules)


# Values


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize(
    "board", [START, SHOTS, LAST_FEW, ON_THE_BAR, WON], ids=["start", "shots", "few", "bar", "won"]
)
@pytest.mark.parametrize("rules", [INTERNATIONAL, OPTIONS], ids=["plain", "options"])
def test_2_ply_equals_plain_recursion(pair: str, board: Board, rules: RuleSet) -> None:
    expected = searcher(PAIRS[pair], rules).value(as_position(board), 2)
    assert tuple(Evaluator(PAIRS[pair]).after_position(board, rules, 2).tolist()) == expected


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("board", [SHOTS, LAST_FEW, WON], ids=["shots", "few", "won"])
def test_3_ply_equals_plain_recursion(pair: str, board: Board) -> None:
    expected = searcher(PAIRS[pair]).value(as_position(board), 3)
    assert tuple(Evaluator(PAIRS[pair]).after_position(board, INTERNATIONAL, 3).tolist()) == expected


def test_3_ply_of_the_start_equals_plain_recursion() -> None:
    nets = PAIRS["with filter net"]
    expected = searcher(nets).value(as_position(START), 3)
    assert tuple(Evaluator(nets).after_position(START, INTERNATIONAL, 3).tolist()) == expected


def test_4_ply_equals_plain_recursion() -> None:
    board = make_board([0, 2, 0, 1] + [0] * 17 + [0, -1, 0, -2, 0])
    for nets in PAIRS.values():
        expected = searcher(nets).value(as_position(board), 4)
        assert tuple(Evaluator(nets).after_position(board, INTERNATIONAL, 4).tolist()) == expected


def test_levels_and_the_filter_net_matter() -> None:
    found = {
        tuple(Evaluator(nets).after_position(START, INTERNATIONAL, level).tolist())
        for nets in PAIRS.values()
        for level in (1, 2, 3)
    }
    assert len(found) == 5  # level 1 asks no filter net


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_a_finished_game_is_worth_its_result_at_every_level(level: int) -> None:
    evaluator = Evaluator(PAIRS["with filter net"])
    assert evaluator.after_position(WON, INTERNATIONAL, level).tolist() == [ONE, ONE, ONE, 0, 0]
    plain_win = np.array([0] * 20 + [0, -1, 0, -2, -1, 0], dtype=np.int8)
    assert evaluator.after_position(plain_win, INTERNATIONAL, level).tolist() == [ONE, 0, 0, 0, 0]


@pytest.mark.parametrize("level", [1, 2, 3])
def test_a_position_before_the_roll_is_the_opponents_after_position_turned_round(level: int) -> None:
    evaluator = Evaluator(PAIRS["with filter net"])
    outcome = evaluator.after_position(SHOTS, INTERNATIONAL, level) / ONE
    seen = evaluator.before_roll(flip(SHOTS), INTERNATIONAL, level)
    assert seen.outcome == pytest.approx((1 - outcome[0], *outcome[[3, 4, 1, 2]]), abs=1e-12)
    assert seen.equity == pytest.approx(-valuation(outcome, INTERNATIONAL).equity, abs=1e-12)


# Ranking


def key(play: RankedPlay) -> tuple[int, float, int]:
    """The documented order; larger comes first."""
    return (play.level, play.value.equity, borne_off(play.after)[0])


BEFORE = flip(ON_THE_BAR)
NORMAL = load_filter("normal")
WIDE = MoveFilter("wide", ((FilterStep(1, 99, 9.0),), (FilterStep(1, 99, 9.0),), (FilterStep(1, 99, 9.0),)))


def levels_of(plays: list[RankedPlay]) -> list[int]:
    """From the best play down."""
    return [play.level for play in plays]


@cache
def evaluator_of(pair: str) -> Evaluator:
    """One for all tests of the ranking, which also shows that nothing is left over from one to the next."""
    return Evaluator(PAIRS[pair])


@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("board", [START, flip(SHOTS), BEFORE], ids=["start", "shots", "bar"])
def test_every_play_is_ranked_by_level_then_equity_with_the_value_of_its_level(board: Board, level: int) -> None:
    evaluator = evaluator_of("with filter net")
    ranked = rank_plays(evaluator, board, (3, 1), INTERNATIONAL, level, NORMAL)
    assert ranked[0].level == level
    assert [key(play) for play in ranked] == sorted((key(play) for play in ranked), reverse=True)
    for play in ranked:
        outcome = evaluator.after_position(play.after, INTERNATIONAL, play.level)
        assert play.value == valuation(outcome / ONE, INTERNATIONAL)
    legal = {tuple(after.tolist()) for after in evaluator.plays(board, (3, 1), INTERNATIONAL)[0]}
    assert {as_position(play.after) for play in ranked} == legal
    assert len(ranked) == len(legal)


def test_4_ply_looks_at_the_best_of_3_ply() -> None:
    evaluator = evaluator_of("with filter net")
    steps = (FilterStep(1, 3, 9.0), FilterStep(3, 2, 9.0))
    board = make_board([0, 1, 0, 0, 1, 1] + [0] * 15 + [0, -1, 0, -1, 0])
    ranked = rank_plays(evaluator, board, (2, 1), INTERNATIONAL, 4, MoveFilter("few", ((), (), steps)))
    assert levels_of(ranked)[:3] == [4, 4, 3]
    assert set(levels_of(ranked)[3:]) == {1}
    for play in ranked:
        outcome = evaluator.after_position(play.after, INTERNATIONAL, play.level)
        assert play.value == valuation(outcome / ONE, INTERNATIONAL)


@pytest.mark.parametrize("keep", [1, 2, 5])
def test_a_step_keeps_the_best_plays_of_its_level(keep: int) -> None:
    evaluator = evaluator_of("with filter net")
    before = rank_plays(evaluator, START, (3, 1), INTERNATIONAL)
    move_filter = MoveFilter("keep", ((FilterStep(1, keep, 9.0),), (), ()))
    ranked = rank_plays(evaluator, START, (3, 1), INTERNATIONAL, 2, move_filter)
    assert levels_of(ranked) == [2] * keep + [1] * (len(before) - keep)
    chosen = {as_position(play.after) for play in ranked[:keep]}
    assert chosen == {as_position(play.after) for play in before[:keep]}
    # Those left behind stand as before, even if one has a higher equity than a play of a higher level.
    assert [as_position(p.after) for p in ranked[keep:]] == [as_position(p.after) for p in before[keep:]]
    assert [p.value for p in ranked[keep:]] == [p.value for p in before[keep:]]


def test_a_step_leaves_behind_what_is_more_than_its_margin_worse() -> None:
    evaluator = evaluator_of("with filter net")
    before = rank_plays(evaluator, START, (3, 1), INTERNATIONAL)
    losses = [round((before[0].value.equity - play.value.equity) * ONE) for play in before]
    for count in (1, 3, 6):
        assert losses[count - 1] < losses[count]
        for margin, going_on in ((losses[count - 1] / ONE, count), ((losses[count] - 1) / ONE, count)):
            move_filter = MoveFilter("margin", ((FilterStep(1, 99, margin),), (), ()))
            ranked = rank_plays(evaluator, START, (3, 1), INTERNATIONAL, 2, move_filter)
            assert levels_of(ranked) == [2] * going_on + [1] * (len(before) - going_on)


def test_shipped_filters_are_ordered_by_how_much_they_look_at() -> None:
    assert known_filters() == ["normal", "tiny", "wide"]
    tiny, normal, wide = (load_filter(name) for name in ("tiny", "normal", "wide"))
    assert tiny.for_level(1) == normal.for_level(1) == wide.for_level(1) == ()
    for level in (2, 3, 4):
        for less, more in ((tiny, normal), (normal, wide)):
            for a, b in zip(less.for_level(level), more.for_level(level), strict=True):
                assert a.level == b.level < level
                assert a.keep <= b.keep
                assert a.margin <= b.margin
            assert less.for_level(level) != more.for_level(level)


def test_a_search_without_a_move_filter_is_our_fault() -> None:
    with pytest.raises(InternalError, match="move filter"):
        rank_plays(evaluator_of("with filter net"), START, (3, 1), INTERNATIONAL, 2)


FILTER_FILE = """
[[level2]]
level = 1
keep = 3
margin = 0.5
[[level3]]
level = 1
keep = 3
margin = 0.5
[[level3]]
level = 2
keep = 1
margin = 0.0
[[level4]]
level = 1
keep = 2
margin = 0.5
"""


def test_a_move_filter_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(FILTER_FILE)
    mine = load_filter(str(path))
    assert mine.for_level(2) == (FilterStep(1, 3, 0.5),)
    assert mine.for_level(3) == (FilterStep(1, 3, 0.5), FilterStep(2, 1, 0.0))
    ranked = rank_plays(evaluator_of("with filter net"), START, (3, 1), INTERNATIONAL, 3, mine)
    assert levels_of(ranked)[:4] == [3, 2, 2, 1]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("level2 = = 3", "a TOML file"),
        (FILTER_FILE.replace("keep = 2", "keep = 0"), "valid move filter"),
        (FILTER_FILE.replace("margin = 0.0", "margin = -1.0"), "valid move filter"),
        (FILTER_FILE.replace("keep = 2", "keeps = 2"), "valid move filter"),
        (FILTER_FILE.replace("level = 2", "level = 1"), "level 3 that begin at 1 and rise"),
        (FILTER_FILE.replace("level = 2", "level = 3"), "level 3 that begin at 1 and rise"),
        (FILTER_FILE.partition("[[level4]]")[0], "valid move filter"),
    ],
)
def test_a_move_filter_that_makes_no_sense_is_refused(tmp_path: Path, text: str, named: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=named) as caught:
        load_filter(str(path))
    assert caught.value.field == "filter"
    assert "\n" not in str(caught.value)


def test_a_move_filter_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="a readable TOML file"):
        load_filter(str(path))


@pytest.mark.parametrize("name", ["huge", "", "nowhere.toml", "../tiny"])
def test_an_unknown_move_filter_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="filter"):
        load_filter(name)


def test_without_a_narrow_filter_all_plays_reach_the_level() -> None:
    ranked = rank_plays(evaluator_of("with filter net"), flip(SHOTS), (3, 1), INTERNATIONAL, 2, WIDE)
    assert set(levels_of(ranked)) == {2}


@pytest.mark.parametrize("level", [2, 3])
def test_the_ranking_is_the_same_every_time_and_from_a_new_evaluator(level: int) -> None:
    found = [
        [
            (as_position(p.after), p.value, p.level)
            for p in rank_plays(evaluator, BEFORE, (6, 2), INTERNATIONAL, level, NORMAL)
        ]
        for evaluator in (
            evaluator_of("with filter net"),
            evaluator_of("with filter net"),
            Evaluator(Nets(MAIN, FILTER)),
        )
    ]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("level", [2, 3, 4])
def test_a_play_that_wins_keeps_its_exact_value(level: int) -> None:
    board = make_board([0, 1, 1] + [0] * 17 + [0, -1, 0, -2, -1, 0])
    ranked = rank_plays(evaluator_of("with filter net"), board, (2, 1), INTERNATIONAL, level, WIDE)
    assert not (ranked[0].after > 0).any()
    assert ranked[0].value.equity == 1.0
    assert len(ranked) == 1 or ranked[1].value.equity < 1.0


@pytest.mark.parametrize("level", [0, 5, -1])
def test_unknown_levels_are_refused(level: int) -> None:
    with pytest.raises(InputError, match="level"):
        rank_plays(evaluator_of("with filter net"), START, (3, 1), INTERNATIONAL, level)


@pytest.mark.parametrize("step", [(1, 0, 0.1), (1, 3, -0.1), (0, 3, 0.1), (4, 3, 0.1)])
def test_steps_that_can_not_be_taken_are_refused(step: tuple[int, int, float]) -> None:
    with pytest.raises(InputError, match="usable step"):
        FilterStep(*step)


# The play of a trial


def plain_choice(nets: Nets, rules: RuleSet = INTERNATIONAL) -> oracle.SecondPly:
    """How trials at level 2 choose."""
    return oracle.SecondPly(searcher(nets, rules), LEVEL_2_PLAYS, round(LEVEL_2_MARGIN * ONE))


def made(nets: Nets, board: Board, dice: tuple[int, int], width: int, margin: int) -> tuple[plain.Position, Outcome]:
    """The compiled choice at level 2 and its value."""
    evaluator = Evaluator(nets)
    w, w2, *_ = evaluator.workspaces
    value = np.zeros(5, dtype=np.int64)
    at = play_made(np.array(board), *dice, 2, width, margin, evaluator.engine(INTERNATIONAL), w, w2, value)
    return as_position(w.main.plays[at]), tuple(value.tolist())


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("board", [START, flip(SHOTS), BEFORE], ids=["start", "shots", "bar"])
@pytest.mark.parametrize("dice", [(3, 1), (6, 5), (2, 2)])
def test_the_choice_at_2_ply_equals_the_oracle(pair: str, board: Board, dice: tuple[int, int]) -> None:
    for width, margin in ((LEVEL_2_PLAYS, LEVEL_2_MARGIN), (2, 9.0), (8, 0.02), (1, 0.0)):
        choice = oracle.SecondPly(searcher(PAIRS[pair]), width, round(margin * ONE))
        found = made(PAIRS[pair], board, dice, width, round(margin * ONE))
        assert found == choice.best(as_position(board), dice)


@pytest.mark.parametrize("pair", PAIRS)
def test_trials_at_level_2_equal_the_oracle(pair: str) -> None:
    nets = PAIRS[pair]
    cases: list[tuple[Candidate, int | None, RuleSet]] = [
        (Candidate.before_roll(START), 1, INTERNATIONAL),
        (Candidate.after_play(SHOTS), 3, OPTIONS),
        (Candidate.before_roll(flip(LAST_FEW)), None, INTERNATIONAL),
    ]
    for candidate, truncate, rules in cases:
        settings = RolloutSettings(rules, seed=12, level=2, truncate=truncate, bearoff=False)
        rows = Roller(nets).trials(candidate, settings, 40, 2)
        for row, number in zip(rows.tolist(), (40, 41), strict=True):
            assert row == trial_oracle.trial(
                as_position(candidate.board),
                candidate.mover_rolls,
                12,
                number,
                truncate,
                True,
                plain_choice(nets, rules),
                searcher(nets, rules, LUCK_PLAYS),
            )


def test_trials_at_level_1_with_a_filter_net_look_at_every_play_but_not_for_luck() -> None:
    nets = PAIRS["with filter net"]
    settings = RolloutSettings(INTERNATIONAL, seed=3, truncate=2, bearoff=False)
    rows = Roller(nets).trials(Candidate.before_roll(START), settings, 7, 3)
    for row, number in zip(rows.tolist(), (7, 8, 9), strict=True):
        every, likely = searcher(PAIRS["main net alone"]), searcher(nets, keep=LUCK_PLAYS)
        assert row == trial_oracle.trial(as_position(START), True, 3, number, 2, True, every, likely)
    assert (
        rows[:, :5].tolist() == Roller(Nets(MAIN)).trials(Candidate.before_roll(START), settings, 7, 3)[:, :5].tolist()
    )


def test_of_equal_plays_the_one_that_bears_off_more_is_made() -> None:
    # A net that knows nothing: all races here are even. 2-1 can bear off two checkers, one or none.
    blank = make_net({name: np.zeros_like(array) for name, array in MAIN.arrays.items()})
    board = make_board([0, 2, 2, 2, 2] + [0] * 15 + [-2, -2, -2, -2, 0, 0])
    nets = Nets(blank)
    evaluator = Evaluator(nets)
    plays, outcomes = evaluator.plays(board, (2, 1), INTERNATIONAL)
    assert len(plays) > 4
    assert len({tuple(outcome) for outcome in outcomes.tolist()}) == 1
    off = {int(borne_off(play)[0]) for play in plays}
    assert len(off) == 3
    after, _ = made(nets, board, (2, 1), 99, 9 * ONE)
    assert plain.own_checkers(after) == 6
    for level in (1, 2, 3):
        ranked = rank_plays(evaluator, board, (2, 1), INTERNATIONAL, level, WIDE)
        counts = [int(borne_off(play.after)[0]) for play in ranked]
        assert counts == sorted(counts, reverse=True)
        assert counts[0] == max(off)


# What a search remembers


def test_a_search_that_remembers_gives_the_same_bits_as_one_that_has_met_nothing() -> None:
    nets = PAIRS["with filter net"]
    after = flip(START)
    fresh = {level: Evaluator(nets).after_position(after, INTERNATIONAL, level).tolist() for level in (3, 4)}
    used = Evaluator(nets)
    for level in (4, 3, 4, 3):
        assert used.after_position(after, INTERNATIONAL, level).tolist() == fresh[level]
    asked, known = used.engine(INTERNATIONAL).memory.counts
    assert 0 < known < asked


def test_rule_sets_remember_apart() -> None:
    evaluator = Evaluator(PAIRS["with filter net"])
    tavla = rule_set("tavla+hit-and-run-ban")
    first = evaluator.after_position(flip(START), INTERNATIONAL, 3).tolist()
    assert (
        evaluator.after_position(flip(START), tavla, 3).tolist()
        == Evaluator(PAIRS["with filter net"]).after_position(flip(START), tavla, 3).tolist()
    )
    assert evaluator.after_position(flip(START), INTERNATIONAL, 3).tolist() == first


def test_two_positions_in_one_slot_are_told_apart() -> None:
    memory = make_memory()._replace(boards=np.zeros((1, 26), dtype=np.int8), outcomes=np.zeros((1, 5), dtype=np.int64))
    outcome = np.zeros(5, dtype=np.int64)
    one, other = np.array(START), np.array(flip(START))
    other[1], other[2] = 1, other[2] + 1
    remember(one, slot_of(one, memory), memory, np.arange(5))
    assert slot_of(other, memory) == 0
    assert not recall(other, 0, memory, outcome)
    assert recall(one, 0, memory, outcome)
    assert outcome.tolist() == [0, 1, 2, 3, 4]
    assert memory.counts.tolist() == [2, 1]
