"""Deep analysis: search and simulation together, halves that are ordinary rollouts, marks against sums done by hand.

Games are races of three checkers (Hypergammon), which are over in a few half-moves and use no databases.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from nets import random_net
from test_coordinator import Watched, no_executor

from cluster import planner
from cluster.cli.main import main
from cluster.coordinator import RolloutRun
from cluster.deep.planner import DeepQuestion, half_seeds, plan
from cluster.deep.results import make_result, standings
from cluster.deep.run import DeepProgress, DeepRun
from cluster.deep.schemas import DeepReport, DeepRequest, DeepResult
from cluster.executor import Executor, InlineExecutor
from cluster.results import TallyOf
from cluster.schemas import RolloutRequest
from cluster.store import MemoryStore, TrialRange
from engine.cube import CubeBranch
from engine.decision import CubeAction
from engine.errors import InfrastructureError, InputError
from engine.evaluator import Evaluator, Nets
from engine.kernels.network import ONE
from engine.rollout import CUBE_ROW, TrialRows
from engine.search import rank_plays
from engine.tally import Tally
from engine.xgid import parse_xgid

BOARD = "------AA-A-------aa-a-----"
PLAYS = f"XGID={BOARD}:0:0:1:31:0:0:0:0:10"
DOUBLE = f"XGID={BOARD}:0:0:1:00:0:0:2:0:10"
SCORE = f"XGID={BOARD}:0:0:1:00:2:1:0:5:10"
TRIALS = 720
BLOCKS = TRIALS // 2 // 36
NETS = Nets(random_net(4))
SESSION = {"position": DOUBLE, "candidates": 2}


def ask(position: str = PLAYS, **changes: Any) -> DeepQuestion:
    fields = {"position": position, "rules": "hypergammon", "trials": TRIALS, "candidates": 3, "margin": 6.0} | changes
    return plan(DeepRequest(**fields), lambda checkers: Evaluator(NETS))


@dataclass
class Answer:
    """A run, and everything that it let be seen."""

    question: DeepQuestion
    report: DeepReport
    progress: list[DeepProgress]

    @property
    def result(self) -> DeepResult:
        return self.report.result

    @property
    def text(self) -> str:
        return self.report.result.model_dump_json()


def answer(question: DeepQuestion, store: MemoryStore, executor_for: Callable[[], Executor]) -> Answer:
    seen: list[DeepProgress] = []
    return Answer(question, DeepRun(question, NETS, store).run(executor_for, seen.append), seen)


@pytest.fixture(scope="module")
def checker_play() -> Answer:
    return answer(ask(), MemoryStore(), InlineExecutor)


@pytest.fixture(scope="module")
def cube_decision() -> Answer:
    return answer(ask(DOUBLE), MemoryStore(), InlineExecutor)


# --- what is asked ---------------------------------------------------------------------------------------------------


def test_the_candidates_are_the_best_plays_of_the_3_ply_search_within_the_margin() -> None:
    position = parse_xgid(PLAYS)
    ranked = rank_plays(
        Evaluator(NETS),
        position.board,
        (3, 1),
        ask().position.match.rules,
        3,
        move_filter=_filter(),
    )
    best = ranked[0].value.equity
    margin = best - ranked[1].value.equity + 1e-9
    asked = ask(margin=margin)
    assert [c.search_equity for c in asked.candidates] == [r.value.equity for r in ranked[:2]]
    assert len(ask().candidates) == 3


def _filter() -> Any:
    from cluster.filters import load_filter

    return load_filter("normal")


def test_named_plays_are_searched_as_deep_in_whatever_order_they_are_named() -> None:
    names = [c.play for c in ask(candidates=20).candidates]
    some = (str(names[-1]), str(names[0]))
    asked = ask(plays=some)
    assert {c.play for c in asked.candidates} == set(some)
    assert asked.key == ask(plays=some[::-1]).key
    assert asked.key != ask(plays=some[:1]).key


def test_the_halves_are_rollouts_that_differ_in_their_seeds_alone() -> None:
    one, two = ask(seed=7).halves
    assert (one.settings.seed, two.settings.seed) == half_seeds(7)
    assert one.settings.seed == 7, "shared with an ordinary rollout"
    assert half_seeds(7)[1] not in half_seeds(8)
    assert one.trials == two.trials == TRIALS // 2
    assert one.key != two.key
    assert {c.play for c in one.candidates} == {c.play for c in two.candidates}


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"plays": ("24/23",)}, "play"), ({"filter": "none such"}, "filter"), ({"seed": -1}, "seed")],
)
def test_a_question_that_makes_no_sense_is_refused_by_its_field(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as refused:
        ask(**changes)
    assert refused.value.field == field


# --- the answer ------------------------------------------------------------------------------------------------------


def test_a_candidate_is_worth_the_mean_of_search_and_simulation(checker_play: Answer) -> None:
    result = checker_play.result
    searched = {c.play: c.search_equity for c in checker_play.question.candidates}
    for c in result.candidates:
        assert c.search_equity == searched[c.play]
        assert c.simulation_equity == pytest.approx((c.halves[0].equity + c.halves[1].equity) / 2)
        assert c.equity == pytest.approx((c.search_equity + c.simulation_equity) / 2)
        assert c.trials == TRIALS
    equities = [c.equity for c in result.candidates]
    assert equities == sorted(equities, reverse=True)
    assert [c.difference for c in result.candidates] == [e - equities[0] for e in equities]


def test_each_half_is_what_an_ordinary_rollout_with_its_seed_says_and_shares_its_trials() -> None:
    store = MemoryStore()
    done = answer(ask(), store, InlineExecutor)
    plays = tuple(str(c.play) for c in done.result.candidates)
    for half, seed in enumerate(half_seeds(1)):
        request = RolloutRequest(
            position=PLAYS, plays=plays, trials=TRIALS // 2, seed=seed, rules="hypergammon", block=50
        )
        question = planner.plan(request, Evaluator(NETS))
        store._results.clear()
        report = RolloutRun(request, question, NETS, store).run(no_executor, lambda _: None)
        rolled = {c.play: c for c in report.result.candidates}
        for c in done.result.candidates:
            assert c.halves[half].equity == pytest.approx(rolled[c.play].equity, abs=1e-12)


def test_a_cube_decision_has_both_branches_and_the_exact_pass(cube_decision: Answer) -> None:
    result = cube_decision.result
    nd, dt = result.candidates
    assert (nd.branch, dt.branch) == (CubeBranch.NO_DOUBLE.value, CubeBranch.DOUBLE_TAKE.value)
    assert result.cube is not None
    assert (result.cube.equity_nd, result.cube.equity_dt, result.cube.equity_dp) == (nd.equity, dt.equity, 1.0)
    assert result.cubeful
    assert dt.difference == dt.equity - nd.equity
    assert cube_decision.question.search_cube is not None
    assert nd.search_equity == cube_decision.question.search_cube.no_double
    assert result.cube.equity_beaver == 2 * dt.equity


def test_at_a_score_there_is_a_chance_to_win_the_match_beside_the_equity() -> None:
    result = answer(ask(SCORE), MemoryStore(), InlineExecutor).result
    assert result.met is not None
    for c in result.candidates:
        assert c.mwc is not None
        assert 0.0 < c.mwc < 1.0


def test_without_the_cube_a_position_before_the_roll_is_one_candidate() -> None:
    result = answer(ask(DOUBLE, cube=False), MemoryStore(), InlineExecutor).result
    (only,) = result.candidates
    assert (only.play, only.branch, only.difference, only.margin, only.playable) == (None, None, 0.0, 0.0, True)
    assert result.cube is None


# --- by hand, on made-up trials --------------------------------------------------------------------------------------


def rows_of(values: np.ndarray[Any, Any]) -> TrialRows:
    """Trials with the cube that are worth so much, without luck."""
    rows = np.zeros((len(values), CUBE_ROW), dtype=np.int32)
    rows[:, CUBE_ROW // 2 - 1] = np.rint(values * ONE)
    return rows


def tally_of(question: DeepQuestion, half: int, values: Sequence[np.ndarray[Any, Any]]) -> TallyOf:
    """Of made-up trials of the candidates, which come in the deep question's order."""
    rows = {c.numbers[half]: rows_of(v) for c, v in zip(question.candidates, values, strict=True)}
    rules = question.halves[half].rules
    return lambda numbers, trials: Tally.of([rows[i][trials.first : trials.stop] for i in numbers], rules)


def made_up(seed: int, nd: float, dt: float, shift: float = 0.0) -> tuple[DeepResult, list[np.ndarray[Any, Any]]]:
    """An answer from trials around these means whose second half is shifted; and the trials [half][candidate]."""
    question = ask(DOUBLE)
    random = np.random.default_rng(seed)
    both = [[random.normal(mean + half * shift, 0.5, TRIALS // 2).clip(-3, 3) for mean in (nd, dt)] for half in (0, 1)]
    exact = [[np.rint(v * ONE) / ONE for v in half] for half in both]
    result = make_result(question, *(tally_of(question, half, exact[half]) for half in (0, 1)))
    return result, [np.array(half) for half in exact]


def test_the_margin_is_students_factor_times_the_dispersion_of_blocks_of_the_paired_difference() -> None:
    result, trials = made_up(seed=5, nd=0.3, dt=0.25)
    blocks = [(half[1] - half[0]).reshape(BLOCKS, 36).mean(axis=1) for half in trials]
    squares = sum(((b - b.mean()) ** 2).sum() for b in blocks)
    se = np.sqrt(squares / (2 * BLOCKS - 2) / (2 * BLOCKS))
    nd, dt = result.candidates
    assert dt.simulation_difference == pytest.approx(np.mean([b.mean() for b in blocks]), abs=1e-9)
    assert dt.simulation_difference_se == pytest.approx(se, rel=1e-9)
    assert dt.margin == pytest.approx(2.10092 * se, rel=1e-4), "t, two-sided 95 %, 18 degrees of freedom"
    assert nd.margin == 0.0
    assert dt.halves[1].difference == pytest.approx(blocks[1].mean(), abs=1e-9)
    gap = trials[0][0].mean() - trials[1][0].mean()
    assert nd.gap == pytest.approx(gap, abs=1e-9)


def test_candidates_closer_than_the_margin_are_both_playable_and_others_are_not() -> None:
    searched = [c.search_equity for c in ask(DOUBLE).candidates]
    near, _ = made_up(1, nd=0.5, dt=0.5 + searched[0] - searched[1])
    far, _ = made_up(1, nd=0.5, dt=1.5 + searched[0] - searched[1])
    for result, close in ((near, True), (far, False)):
        dt = result.candidates[1]
        assert (abs(dt.difference) < dt.margin) == close
        assert result.cube is not None
        assert result.cube.doubling is not None
        assert result.cube.doubling.playable == close
    assert far.cube is not None
    assert far.cube.action in (CubeAction.DOUBLE_TAKE, CubeAction.DOUBLE_PASS)


def test_halves_that_differ_by_more_than_chance_allows_are_said_to() -> None:
    agreeing, _ = made_up(2, nd=0.2, dt=0.1)
    assert agreeing.halves_agree
    result, _ = made_up(2, nd=0.2, dt=0.1, shift=0.5)
    assert not result.halves_agree
    for c in result.candidates:
        assert abs(c.gap) > c.gap_allowed


def test_two_honest_halves_are_hardly_ever_called_different() -> None:
    assert sum(not made_up(seed, nd=0.2, dt=0.1)[0].halves_agree for seed in range(100, 140)) <= 2


def test_candidates_change_places_while_trials_come_in() -> None:
    question = ask(candidates=2)
    first, second = question.candidates
    before = standings(question, (None, None))
    assert [one.asked for one in before] == [first, second]
    assert [one.equity for one in before] == [first.search_equity, second.search_equity]

    def tally(best: float, other: float) -> Tally:
        rows = {}
        for c, win in ((first, best), (second, other)):
            rows[c.numbers[0]] = np.zeros((72, 10), dtype=np.int32)
            rows[c.numbers[0]][:, 0] = round(win * ONE)
        return Tally.of([rows[0], rows[1]], question.halves[0].rules)

    turned = standings(question, (tally(0.25, 0.75), None))
    assert [one.asked for one in turned] == [second, first]
    assert turned[0].equity == (second.search_equity + 0.5) / 2
    assert (turned[0].trials, turned[0].difference.mean) == (72, 0.0)
    assert turned[1].difference.mean == pytest.approx(turned[1].equity - turned[0].equity)


# --- the same bytes, and nothing twice -------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [36, 50, 1000])
def test_blocks_and_the_order_in_which_they_come_change_no_byte(
    checker_play: Answer, cube_decision: Answer, block: int
) -> None:
    for reference, position in ((checker_play, PLAYS), (cube_decision, DOUBLE)):
        executor = Watched(shuffle=block)
        assert answer(ask(position, block=block), MemoryStore(), lambda e=executor: e).text == reference.text  # type: ignore[misc]


def test_an_analysis_that_died_goes_on_from_its_finished_blocks(checker_play: Answer) -> None:
    store = MemoryStore()
    dying = Watched(dies_after=2)
    with pytest.raises(InfrastructureError):
        answer(ask(), store, lambda: dying)
    assert dying.trials == 3 * 2 * 108
    going_on = Watched()
    done = answer(ask(), store, lambda: going_on)
    assert done.text == checker_play.text
    assert going_on.trials == 3 * TRIALS - dying.trials
    assert done.report.provenance.trials_from_cache == dying.trials


def test_the_same_question_again_needs_no_executor_and_no_trials(checker_play: Answer) -> None:
    store = MemoryStore()
    answer(ask(), store, InlineExecutor)
    again = answer(ask(block=36), store, no_executor)
    assert again.text == checker_play.text
    assert (again.report.provenance.trials, again.report.provenance.trials_from_cache) == (3 * TRIALS, 3 * TRIALS)


def test_the_trials_alone_answer_when_the_finished_result_is_lost_or_unreadable(checker_play: Answer) -> None:
    store = MemoryStore()
    done = answer(ask(), store, InlineExecutor)
    store.put_result(done.question.key, b'{"of": "another version"}')
    assert answer(ask(), store, no_executor).text == checker_play.text


def test_trials_that_the_store_has_lost_are_played_again_though_the_halves_are_answered(checker_play: Answer) -> None:
    store = MemoryStore()
    done = answer(ask(), store, InlineExecutor)
    del store._results[done.question.key]
    store._series.clear()
    executor = Watched()
    assert answer(ask(), store, lambda: executor).text == checker_play.text
    assert executor.trials == 3 * TRIALS


def test_progress_tells_how_far_each_half_is(checker_play: Answer) -> None:
    first = [p.halves[0] for p in checker_play.progress if p.halves[1] is None]
    assert first[0] is not None
    assert first[0].blocks_done == 0
    last = checker_play.progress[-1]
    assert [half and half.tally.trials for half in last.halves] == [TRIALS // 2] * 2


def test_trials_of_one_half_are_read_though_its_rollout_is_answered(checker_play: Answer) -> None:
    store = MemoryStore()
    question = ask()
    half = RolloutRun(question.requests[1], question.halves[1], NETS, store)
    half.run(InlineExecutor, lambda _: None)
    seen: list[TallyOf] = []
    RolloutRun(question.requests[1], question.halves[1], NETS, store).run(no_executor, lambda _: None, seen.append)
    assert seen[0]((0, 1, 2), TrialRange(0, 36)).trials == 36


# --- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture
def no_tracking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAMMONFARM_MLFLOW_URI", "off")


COMMAND = ["deep", DOUBLE, "--rules", "hypergammon", "--trials", str(TRIALS), "--executor", "inline"]


def test_the_command_shows_branches_halves_and_verdict_and_prints_one_document(
    no_tracking: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(COMMAND) == 0
    shown = capsys.readouterr().out
    assert "no double" in shown
    assert "double/pass" in shown
    assert "the halves" in shown
    assert "right: " in shown
    assert main([*COMMAND, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    report = DeepReport.model_validate(document)
    assert report.provenance.trials_from_cache == 2 * TRIALS
    assert report.result.half_seeds == half_seeds(1)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--trials", "721"], "trials: '721'"),
        (["--margin=-1"], "margin"),
        (["--play", "13/9"], "play"),
        (["--workers", "0"], "workers"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(
    no_tracking: None, words: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*COMMAND, *words]) == 2
    error = capsys.readouterr().err
    assert named in error
    assert "Traceback" not in error
