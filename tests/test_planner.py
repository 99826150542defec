"""From a request to a question, its content keys and the tasks that are missing."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.cli.options import chosen_nets
from cluster.planner import (
    PlannedCandidate,
    RolloutQuestion,
    blocks_of,
    joined,
    missing_ranges,
    missing_tasks,
    plan,
    series_key,
)
from cluster.schemas import RolloutRequest
from cluster.store import TrialRange
from engine.board import START, flip
from engine.cube import CubeBranch
from engine.errors import InputError
from engine.evaluator import Evaluator
from engine.gnuid import format_gnu_id
from engine.ids import parse_position
from engine.position import Position
from engine.rollout import Candidate, RolloutSettings
from engine.rules import INTERNATIONAL, TAVLA, Start, rule_set
from engine.search import rank_plays
from engine.stopping import StopRules

PROBLEM = "XGID=--ABBBC-B---eB---c-cbb--A-:0:0:1:56:0:0:0:0:10"
BEFORE_ROLL = "XGID=--ABBBC-B---eB---c-cbb--A-:0:0:1:00:0:0:0:0:10"
DOUBLED = "XGID=--ABBBC-B---eB---c-cbb--A-:0:0:1:D:0:0:0:0:10"


@pytest.fixture(scope="module")
def evaluator() -> Evaluator:
    return Evaluator(chosen_nets(None))


def question(trials: int, block: int, series: tuple[str, ...] = ("a", "b")) -> RolloutQuestion:
    candidates = tuple(PlannedCandidate(name, Candidate.before_roll(START), name) for name in series)
    settings = RolloutSettings(INTERNATIONAL)
    return RolloutQuestion(Position(START), settings, candidates, StopRules(trials), block, "net", "key")


def request(**changes: Any) -> RolloutRequest:
    return RolloutRequest(**({"position": PROBLEM, "plays": ("24/13", "13/8 13/7")} | changes))


RANGES = st.builds(TrialRange, st.integers(0, 120), st.integers(1, 60))


# --- what is missing -------------------------------------------------------------------------------------------------


@given(known=st.lists(RANGES, max_size=8), within=RANGES)
def test_known_and_missing_ranges_cover_exactly_what_was_asked(known: list[TrialRange], within: TrialRange) -> None:
    gaps = missing_ranges(known, within)
    missing = [trial for gap in gaps for trial in range(gap.first, gap.stop)]
    there = {trial for trials in known for trial in range(trials.first, trials.stop)}
    assert missing == sorted(set(range(within.first, within.stop)) - there)
    # Neighbouring gaps would be two tasks where one will do.
    assert all(first.stop < second.first for first, second in pairwise(gaps))


@given(ranges=st.lists(RANGES, max_size=8))
def test_joined_ranges_hold_the_same_trials_in_as_few_ranges_as_will_do(ranges: list[TrialRange]) -> None:
    whole = joined(ranges)
    there = {trial for r in ranges for trial in range(r.first, r.stop)}
    assert [trial for r in whole for trial in range(r.first, r.stop)] == sorted(there)
    assert all(first.stop < second.first for first, second in pairwise(whole))


@given(trials=st.integers(1, 200), block=st.integers(1, 90))
def test_blocks_cut_the_trials_at_multiples_of_the_block_size(trials: int, block: int) -> None:
    blocks = blocks_of(question(trials, block))
    assert [trial for b in blocks for trial in range(b.first, b.stop)] == list(range(trials))
    assert all(b.first % block == 0 and b.count <= block for b in blocks)


@given(trials=st.integers(1, 200), block=st.integers(1, 90), within=RANGES)
def test_a_part_of_the_trials_is_cut_at_the_same_places(trials: int, block: int, within: TrialRange) -> None:
    blocks = blocks_of(question(trials, block), within)
    assert [trial for b in blocks for trial in range(b.first, b.stop)] == list(range(within.first, within.stop))
    assert all(b.first // block == (b.stop - 1) // block for b in blocks)
    assert all(b.first % block == 0 for b in blocks[1:])


@given(
    trials=st.integers(1, 150),
    block=st.integers(1, 60),
    known=st.fixed_dictionaries({}, optional={name: st.lists(RANGES, max_size=5) for name in ("a", "b", "c")}),
)
def test_tasks_compute_every_missing_trial_once_and_nothing_else(
    trials: int, block: int, known: dict[str, list[TrialRange]]
) -> None:
    asked = question(trials, block, ("a", "b", "c"))
    computed: dict[str, list[int]] = {"a": [], "b": [], "c": []}
    for cut in blocks_of(asked):
        for task in missing_tasks(asked, known, cut):
            assert cut.first <= task.first
            assert task.count >= 1
            assert task.first + task.count <= cut.stop
            assert task.count <= block
            assert len(task.candidates) == len(task.series)
            for series in task.series:
                computed[series].extend(range(task.first, task.first + task.count))
    for series, done in computed.items():
        there = {t for r in known.get(series, ()) for t in range(r.first, r.stop)}
        assert sorted(done) == sorted(set(range(trials)) - there)


def test_candidates_with_the_same_gap_share_a_task() -> None:
    asked = question(72, 36, ("a", "b", "c"))
    known = {"a": [TrialRange(0, 36)], "b": [TrialRange(0, 36)]}
    tasks = [[(t.first, t.count, t.series) for t in missing_tasks(asked, known, block)] for block in blocks_of(asked)]
    assert tasks == [[(0, 36, ("c",))], [(36, 36, ("a", "b", "c"))]]


def test_candidates_that_are_out_get_no_tasks() -> None:
    asked = question(72, 36, ("a", "b", "c"))
    known = {"a": [TrialRange(0, 36)]}
    first, second = blocks_of(asked)
    assert missing_tasks(asked, known, first, active=(0,)) == []
    assert [t.series for t in missing_tasks(asked, known, first, active=(0, 2))] == [("c",)]
    assert [t.series for t in missing_tasks(asked, known, second, active=(2, 0))] == [("c", "a")]
    assert missing_tasks(asked, known, second, active=()) == []


def test_nothing_is_missing_when_everything_is_known() -> None:
    whole = [TrialRange(0, 100)]
    asked = question(100, 36)
    assert [missing_tasks(asked, {"a": whole, "b": whole}, block) for block in blocks_of(asked)] == [[], [], []]


# --- content keys ----------------------------------------------------------------------------------------------------

SETTINGS = RolloutSettings(INTERNATIONAL, seed=1, truncate=None, variance_reduction=True)
CANDIDATE = Candidate.before_roll(START)


@pytest.mark.parametrize(
    ("net", "settings", "candidate"),
    [
        pytest.param("other", SETTINGS, CANDIDATE, id="net"),
        pytest.param("net", replace(SETTINGS, seed=2), CANDIDATE, id="seed"),
        pytest.param("net", replace(SETTINGS, truncate=7), CANDIDATE, id="truncate"),
        pytest.param("net", replace(SETTINGS, variance_reduction=False), CANDIDATE, id="variance reduction"),
        pytest.param("net", replace(SETTINGS, level=2), CANDIDATE, id="level"),
        pytest.param("net", replace(SETTINGS, bearoff=False), CANDIDATE, id="bear-off"),
        pytest.param("net", replace(SETTINGS, bearoff_checkers=7), CANDIDATE, id="size of the bear-off database"),
        pytest.param("net", replace(SETTINGS, rules=TAVLA), CANDIDATE, id="tavla"),
        pytest.param("net", replace(SETTINGS, rules=rule_set("international+forced-bear-off")), CANDIDATE, id="option"),
        pytest.param("net", SETTINGS, Candidate(CANDIDATE.board, mover_rolls=False), id="side"),
        pytest.param("net", SETTINGS, Candidate.before_roll(flip(parse_position(PROBLEM).board)), id="board"),
    ],
)
def test_a_series_has_another_key_with_another(net: str, settings: RolloutSettings, candidate: Candidate) -> None:
    assert series_key(net, settings, candidate) != series_key("net", SETTINGS, CANDIDATE)


def test_of_the_rules_only_what_a_trial_can_see_is_in_the_key() -> None:
    def key(**changes: Any) -> str:
        return series_key("net", replace(SETTINGS, rules=replace(INTERNATIONAL, **changes)), CANDIDATE)

    unseen = ({"name": "house rules"}, {"cube": False}, {"winner_starts_next": True})
    few = {"start": Start.HYPERGAMMON}  # whoever has three checkers left loses gammons
    seen = ({"hit_and_run_ban": True}, {"forced_bear_off": True}, {"backgammon_counts": False}, few)
    assert {key(**changes) for changes in unseen} == {key()}
    assert len({key(), *(key(**changes) for changes in seen)}) == 5


def test_where_bearing_off_is_forced_the_databases_are_not_in_the_key() -> None:
    forced = replace(SETTINGS, rules=rule_set("international+forced-bear-off"))
    assert series_key("net", forced, CANDIDATE) == series_key("net", replace(forced, bearoff=False), CANDIDATE)


def test_trials_block_and_number_of_candidates_leave_the_series_alone(evaluator: Evaluator) -> None:
    few = plan(request(trials=36), evaluator)
    many = plan(request(trials=1296, block=216), evaluator)
    assert [c.series for c in few.candidates] == [c.series for c in many.candidates]
    one = plan(request(plays=("24/13",)), evaluator)
    assert {c.series for c in one.candidates} < {c.series for c in few.candidates}


def test_the_key_of_a_question_depends_on_trials_but_not_on_the_block_size(evaluator: Evaluator) -> None:
    asked = plan(request(trials=72), evaluator)
    assert plan(request(trials=72, block=7), evaluator).key == asked.key
    assert plan(request(trials=108), evaluator).key != asked.key


def test_stop_rules_and_race_are_in_the_key_of_the_question_but_not_of_its_trials(evaluator: Evaluator) -> None:
    kinds: list[dict[str, Any]] = [
        {},
        {"race": True},
        {"stop_se": 0.01},
        {"stop_se": 0.02},
        {"stop_confidence": 0.9},
        {"stop_confidence": 0.95},
        {"race": True, "stop_confidence": 0.95},
        {"race": True, "checkpoint": 108},
    ]
    asked = [plan(request(trials=720, **changes), evaluator) for changes in kinds]
    assert len({one.key for one in asked}) == len(kinds)
    assert len({tuple(c.series for c in one.candidates) for one in asked}) == 1
    assert asked[-1].stop == StopRules(720, checkpoint=108, race=True)


def test_where_nothing_is_looked_at_checkpoints_change_no_key(evaluator: Evaluator) -> None:
    asked = plan(request(trials=720), evaluator)
    assert plan(request(trials=720, checkpoint=36), evaluator).key == asked.key
    looks: list[dict[str, Any]] = [{"race": True}, {"stop_se": 0.01}, {"stop_confidence": 0.9}]
    for rules in looks:
        few = plan(request(trials=72, checkpoint=36, **rules), evaluator)
        assert few.key != plan(request(trials=72, checkpoint=40, **rules), evaluator).key


def test_with_a_single_look_at_the_end_only_what_it_can_say_is_in_the_key(evaluator: Evaluator) -> None:
    def key(**changes: Any) -> str:
        return plan(request(trials=72, **changes), evaluator).key

    # Why the rollout ended is part of the answer.
    assert len({key(), key(stop_se=0.01), key(stop_confidence=0.9), key(stop_se=0.01, stop_confidence=0.9)}) == 4
    assert key(race=True) == key(checkpoint=72) == key()
    assert key(stop_se=0.01, checkpoint=100) == key(stop_se=0.01, race=True) == key(stop_se=0.01)


@pytest.mark.parametrize(
    "position",
    [
        pytest.param(PROBLEM.replace(":0:0:1:56:", ":1:1:1:56:"), id="cube"),
        pytest.param(PROBLEM.replace(":0:0:0:0:10", ":2:3:0:7:10"), id="score"),
        pytest.param(PROBLEM.replace(":0:0:1:56:", ":0:0:-1:56:"), id="seat"),
    ],
)
def test_what_the_answer_repeats_is_in_the_key_of_the_question_but_not_of_its_trials(
    evaluator: Evaluator, position: str
) -> None:
    asked, other = (plan(request(position=text, cube=False), evaluator) for text in (PROBLEM, position))
    assert other.key != asked.key
    assert [c.series for c in other.candidates] == [c.series for c in asked.candidates]


def test_the_same_question_in_other_words_has_the_same_key(evaluator: Evaluator) -> None:
    asked = plan(request(), evaluator)
    gnu_id = format_gnu_id(parse_position(PROBLEM))
    assert plan(request(position=gnu_id, plays=("24/18/13", "13/7 13/8")), evaluator).key == asked.key


# --- candidates ------------------------------------------------------------------------------------------------------


def test_named_plays_are_the_candidates_in_standard_notation(evaluator: Evaluator) -> None:
    asked = plan(request(plays=("24/18/13", "13/7 13/8")), evaluator)
    assert sorted(str(c.play) for c in asked.candidates) == ["13/8 13/7", "24/13"]
    assert not any(c.start.mover_rolls for c in asked.candidates)


def test_without_plays_the_best_by_1_ply_are_the_candidates(evaluator: Evaluator) -> None:
    asked = plan(request(plays=(), candidates=3), evaluator)
    position = asked.position
    assert position.dice is not None
    best = rank_plays(evaluator, position.board, position.dice, INTERNATIONAL)[:3]
    assert len(asked.candidates) == 3
    found = {flip(candidate.start.board).tobytes() for candidate in asked.candidates}
    assert found == {ranked.after.tobytes() for ranked in best}


def test_the_order_in_which_plays_are_named_changes_nothing(evaluator: Evaluator) -> None:
    plays = ("24/13", "13/8 13/7", "24/18 13/8")
    asked = [plan(request(plays=order), evaluator) for order in permutations(plays)]
    assert len({one.key for one in asked}) == 1
    assert len({tuple(c.play for c in one.candidates) for one in asked}) == 1
    assert [c.series for c in asked[0].candidates] == sorted(c.series for c in asked[0].candidates)


def test_more_candidates_than_plays_takes_all_plays(evaluator: Evaluator) -> None:
    # Both sides have one checker left: 6-5 can only bear it off.
    board = "-A" + "-" * 22 + "a-"
    asked = plan(request(position=f"XGID={board}:0:0:1:65:0:0:0:0:10", plays=(), candidates=5), evaluator)
    assert [c.play for c in asked.candidates] == ["1/off"]


def test_without_dice_the_position_before_the_roll_is_the_one_candidate(evaluator: Evaluator) -> None:
    asked = plan(request(position=BEFORE_ROLL, plays=(), cube=False), evaluator)
    (only,) = asked.candidates
    assert only.play is None
    assert only.start.mover_rolls
    assert np.array_equal(only.start.board, asked.position.board)


def test_before_the_roll_with_a_cube_to_turn_there_are_two_branches(evaluator: Evaluator) -> None:
    asked = plan(request(position=BEFORE_ROLL, plays=()), evaluator)
    assert {c.start.branch for c in asked.candidates} == {CubeBranch.NO_DOUBLE, CubeBranch.DOUBLE_TAKE}
    theirs = BEFORE_ROLL.replace(":0:0:1:00:", ":1:-1:1:00:")
    assert theirs != BEFORE_ROLL
    (only,) = plan(request(position=theirs, plays=()), evaluator).candidates
    assert only.start.branch is CubeBranch.NO_DOUBLE
    assert not plan(request(position=BEFORE_ROLL, plays=(), race=True), evaluator).stop.race, "both are wanted"


def test_the_cube_is_in_play_at_a_score_but_for_plays_of_money_games_only_when_asked(evaluator: Evaluator) -> None:
    score = PROBLEM.replace(":0:0:0:0:10", ":2:3:0:7:10")
    assert plan(request(), evaluator).settings.cube is None
    money, match = (plan(request(position=text, cube=True), evaluator).settings.cube for text in (PROBLEM, score))
    assert money is not None
    assert match is not None
    assert money != match
    assert plan(request(position=score), evaluator).settings.cube == match
    with pytest.raises(InputError, match="cube"):
        plan(request(cube=True, rules="tavla"), evaluator)


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "field", "value", "expected"),
    [
        pytest.param({"plays": ("24/12",)}, "play", "24/12", "", id="illegal play"),
        pytest.param({"plays": ("24/13", "nonsense")}, "play", "nonsense", "", id="no play at all"),
        pytest.param({"plays": ("13/8 13/7", "13/7 13/8")}, "play", "13/7 13/8", "each play once", id="repeated play"),
        pytest.param({"position": BEFORE_ROLL, "plays": ("24/13",)}, "play", "24/13", "no dice", id="no dice"),
        pytest.param({"position": DOUBLED, "plays": ()}, "position", DOUBLED, "cube offer", id="standing double"),
        pytest.param({"position": "XGID=?"}, "XGID", "?", "fields", id="no position"),
        pytest.param({"rules": "plakoto"}, "rules", "plakoto", "international", id="unknown rules"),
        pytest.param({"level": 9}, "level", 9, "", id="level"),
        pytest.param({"seed": -1}, "seed", -1, "0", id="seed"),
        pytest.param({"truncate": 0}, "truncate", 0, "half-moves", id="truncate"),
    ],
)
def test_a_request_that_makes_no_sense_names_field_value_and_expectation(
    evaluator: Evaluator, changes: dict[str, Any], field: str, value: object, expected: str
) -> None:
    with pytest.raises(InputError) as caught:
        plan(request(**changes), evaluator)
    assert caught.value.field == field
    assert caught.value.value == value
    assert expected in caught.value.expected
    assert caught.value.expected
