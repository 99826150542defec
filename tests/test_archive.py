"""Analysis of archives: verdicts depend on their own decision alone, levels are never mixed, nothing is done twice."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from archive_made import analysed, analysis_with, matches_of, small_nets, small_policy, write_matches
from nets import random_net
from pydantic import TypeAdapter

from cluster.archive import evaluation
from cluster.archive.analysis import AnalysedMatch
from cluster.archive.files import Skipped, find_files
from cluster.archive.matches import Conditions, Matches, bare
from cluster.archive.policy import known_policies, load_policy
from cluster.archive.results import DecisionKind, MatchAnalysis, level_name, to_json
from cluster.archive.work import ask
from cluster.store import MemoryStore
from engine.analysis.thresholds import Grade
from engine.bearoff import Bearoff
from engine.board import START
from engine.cubeful import CubefulEvaluator
from engine.decision import equities_of, judge
from engine.errors import InputError
from engine.evaluator import Evaluator, Nets
from engine.match import CubeOwner, MatchState
from engine.met import load_met
from engine.moves import ROLLS, roll_weight
from engine.notation import format_play
from engine.records.formats import read_record, write_record
from engine.records.record import RecordFormat
from engine.rules import INTERNATIONAL
from engine.xgid import parse_xgid

pytestmark = pytest.mark.usefixtures("databases")

ILLEGAL = """3 point match

 Game 1
 Fox : 0                              Crow : 0
  1) 31: 8/5 6/5                       64: 8/2 6/2
  2) 21: 13/11 13/9                    52: 13/11 13/8
      Wins 1 point
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("archive")
    write_matches(made, (1, 4, 9))
    return made


@pytest.fixture(scope="module")
def two_ply(folder: Path, databases: Bearoff) -> list[AnalysedMatch]:
    return matches_of(analysed(folder))


@pytest.fixture(scope="module")
def evaluator(databases: Bearoff) -> CubefulEvaluator:
    return CubefulEvaluator(Evaluator(small_nets(), databases.arrays), load_met())


def test_what_was_played_and_the_best_have_one_level(two_ply: list[AnalysedMatch]) -> None:
    checked = 0
    for match in two_ply:
        for one in match.analysis.decisions:
            if one.kind is DecisionKind.PLAY and one.counts:
                played = next(c for c in one.candidates if c.play == one.done)
                assert played.level == one.candidates[0].level == one.level
                assert one.loss == pytest.approx(played.loss, abs=2e-6)
                assert [c.level for c in one.candidates] == sorted((c.level for c in one.candidates), reverse=True)
                checked += 1
    assert checked > 100


def test_plays_have_the_values_of_the_engine_at_that_level(
    two_ply: list[AnalysedMatch], evaluator: CubefulEvaluator
) -> None:
    policy = small_policy()
    compared = 0
    for one in two_ply[0].analysis.decisions[:60]:
        if one.kind is not DecisionKind.PLAY or one.level != level_name(2) or one.dice is None:
            continue
        position = parse_xgid(one.xgid)
        ranked = evaluator.rank_plays(position.board, one.dice, position.match, 2, policy.move_filter)
        deep = {
            format_play(position.board, play.after, one.dice, INTERNATIONAL): round(play.equity, 6)
            for play in ranked
            if play.level == 2
        }
        shown = {c.play: c.equity for c in one.candidates if c.level == one.level}
        assert {play: equity for play, equity in shown.items() if play in deep or play != one.done} == {
            play: deep[play] for play in shown if play in deep
        }
        assert one.best in deep or one.best == one.done
        compared += 1
    assert compared > 20


def test_cube_decisions_are_those_of_the_engine(two_ply: list[AnalysedMatch], evaluator: CubefulEvaluator) -> None:
    compared = 0
    for match in two_ply:
        for one in match.analysis.decisions:
            if one.kind is DecisionKind.DOUBLE and one.cube is not None:
                position = parse_xgid(one.xgid)
                values = evaluator.before_roll(position.board, position.match, int(one.level[0]))
                equities = equities_of(values)
                assert one.cube.no_double == pytest.approx(equities.no_double, abs=1e-6)
                losses = judge(equities).losses
                lost = losses.double if one.done == "double" else losses.no_double
                assert one.loss == pytest.approx(max(lost or 0.0, 0.0), abs=1e-6)
                compared += 1
    assert compared > 10


def test_a_verdict_does_not_depend_on_what_else_is_in_the_archive(
    folder: Path, tmp_path: Path, two_ply: list[AnalysedMatch]
) -> None:
    write_matches(tmp_path, (4,))
    (alone,) = matches_of(analysed(tmp_path))
    beside = next(match for match in two_ply if match.analysis.file == "m4.mat")
    assert to_json(alone.analysis) == to_json(beside.analysis)


def test_the_size_of_batches_changes_no_bit(
    folder: Path, two_ply: list[AnalysedMatch], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "ROLLS_A_TASK", 7)
    monkeypatch.setattr(evaluation, "NODES_A_TASK", {1: 5, 2: 3})
    again = matches_of(analysed(folder))
    assert [to_json(one.analysis) for one in again] == [to_json(one.analysis) for one in two_ply]


class _Killed(Exception):
    pass


class _DyingStore(MemoryStore):
    """Ends the run at a write."""

    def __init__(self, writes: int) -> None:
        super().__init__()
        self.left = writes

    def put_values(self, values: object) -> None:
        if self.left == 0:
            raise _Killed
        self.left -= 1
        super().put_values(values)  # type: ignore[arg-type]


def test_a_killed_run_goes_on_from_the_values_it_has_kept(
    folder: Path, two_ply: list[AnalysedMatch], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "NODES_A_TASK", {1: 500, 2: 100})
    store = _DyingStore(writes=2)
    with pytest.raises(_Killed):
        analysed(folder, store=store)
    store.left = 10_000
    resumed = analysis_with(small_policy(), store)
    again = matches_of(list(resumed.run(find_files([folder]))))
    count = resumed.counted.values[2]
    assert 0 < count.cached < count.asked == count.cached + count.computed
    assert [to_json(one.analysis) for one in again] == [to_json(one.analysis) for one in two_ply]


def test_equal_positions_are_valued_once(tmp_path: Path) -> None:
    write_matches(tmp_path, (2,))
    text = (tmp_path / "m2.mat").read_text(encoding="utf-8")
    (tmp_path / "other.mat").write_text(text.replace("Fox", "Fex"), encoding="utf-8")
    lines = text.replace("Fox", "Fax").splitlines()
    (tmp_path / "shorter.mat").write_text("\n".join(lines[:19]), encoding="utf-8")
    analysis = analysis_with(small_policy())
    found = matches_of(list(analysis.run(find_files([tmp_path]))))
    distinct = {(one.xgid, one.dice) for match in found for one in match.analysis.decisions if one.dice}
    assert len(found) == 2, "the whole copy is left out, the shorter match is another one"
    assert sum(one.dice is not None for match in found for one in match.analysis.decisions) > len(distinct)
    assert analysis.counted.values[1].computed == analysis.counted.values[1].asked


def test_a_rotten_file_is_named_and_skipped_and_a_copy_counts_once(tmp_path: Path) -> None:
    write_matches(tmp_path, (1, 3))
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "rotten.mat").write_bytes(b"\x00\x01 nothing that could be read")
    record = read_record((tmp_path / "m1.mat").read_bytes())
    (tmp_path / "m1.sgf").write_text(write_record(record, RecordFormat.SGF), encoding="utf-8")
    found = analysed(tmp_path, small_policy(level=1))
    skipped = [one for one in found if isinstance(one, Skipped)]
    assert [(one.file, one.same_as) for one in skipped] == [("deeper/rotten.mat", None), ("m1.sgf", "m1.mat")]
    assert [one.analysis.file for one in matches_of(found)] == ["m1.mat", "m3.mat"]


def test_names_and_contents_that_no_page_can_hold_are_made_printable(tmp_path: Path) -> None:
    write_matches(tmp_path, (1,))
    (tmp_path / "m1.mat").rename(tmp_path / os.fsdecode(b"odd\xff\n.mat"))
    (tmp_path / "rotten.mat").write_bytes(b"\x07\x1b[31m nothing")
    shown = [one.analysis.file if isinstance(one, AnalysedMatch) else one.reason for one in analysed(tmp_path)]
    assert len(shown) == 2
    assert all(text.isprintable() and text.encode() for text in shown)


def test_an_illegal_play_is_shown_but_counts_nowhere(tmp_path: Path) -> None:
    (tmp_path / "a.mat").write_text(ILLEGAL, encoding="utf-8")
    (found,) = matches_of(analysed(tmp_path))
    (wrong,) = [one for one in found.analysis.decisions if not one.legal]
    assert (wrong.done, wrong.counts, wrong.loss, wrong.grade) == ("13/11 13/9", False, None, None)
    assert wrong.candidates, "what would have been best is told"
    assert found.analysis.illegal_plays == 1
    counted = [one for one in found.analysis.decisions if one.counts]
    assert sum(player.decisions for player in found.analysis.figures) == len(counted)


def test_figures_add_up(two_ply: list[AnalysedMatch]) -> None:
    for match in two_ply:
        analysis = match.analysis
        for seat, figures in enumerate(analysis.figures):
            own = [one for one in analysis.decisions if one.player == seat + 1]
            losses = [one.loss or 0.0 for one in own if one.counts]
            assert figures.decisions == len(losses) == sum(game.players[seat].decisions for game in analysis.games)
            if losses:
                assert figures.pr == pytest.approx(500 * sum(losses) / len(losses), abs=1e-3)
            assert figures.errors == sum(one.grade in (Grade.ERROR, Grade.BLUNDER) for one in own if one.counts)
            assert figures.luck == pytest.approx(sum(one.luck or 0.0 for one in own), abs=1e-3)
        assert sum(analysis.levels.values()) == sum(figures.decisions for figures in analysis.figures)


def test_errors_are_explained_and_results_survive_json(two_ply: list[AnalysedMatch]) -> None:
    for match in two_ply:
        for one in match.analysis.decisions:
            if one.counts and one.grade in (Grade.ERROR, Grade.BLUNDER):
                assert one.sentence.endswith(".")
                assert len(one.reasons) <= 2
        document = to_json(match.analysis)
        assert TypeAdapter(MatchAnalysis).validate_json(document) == match.analysis
        assert json.loads(document)["conditions"]["level"] == 2


def test_the_best_of_every_roll_is_that_of_all_plays_without_a_filter_net(databases: Bearoff) -> None:
    evaluator = CubefulEvaluator(Evaluator(Nets(random_net(5)), databases.arrays), load_met())
    ending = parse_xgid("XGID=-BB" + "-" * 20 + "bb-:0:0:1:00:0:0:0:0:10")
    states = (MatchState(), MatchState(5, (2, 1)), MatchState(7, (0, 3), 2, CubeOwner.MOVER))
    for board, match in [(START, state) for state in states] + [(ending.board, ending.match)]:
        best = [evaluator.plays(board, roll, match).values.max() for roll in ROLLS]
        assert evaluator.best_of_rolls(board, match).tolist() == best


def test_the_luck_of_all_rolls_adds_up_to_nothing(two_ply: list[AnalysedMatch], evaluator: CubefulEvaluator) -> None:
    later = [one for one in two_ply[0].analysis.decisions if one.luck is not None and one.turn > 2][:5]
    for one in later:
        position = parse_xgid(one.xgid)
        question = evaluator.question(position.match)
        values = [
            question.equity(int(evaluator.plays(position.board, roll, position.match).values.max())) for roll in ROLLS
        ]
        mean = sum(roll_weight(roll) * value for roll, value in zip(ROLLS, values, strict=True)) / 36
        assert one.luck == pytest.approx(values[ROLLS.index(one.dice or (0, 0))] - mean, abs=1e-4)


def test_states_that_make_no_difference_share_their_values() -> None:
    assert bare(MatchState(7, (3, 5))) == bare(MatchState(11, (7, 9))) == MatchState(4, (0, 2))
    assert bare(MatchState(score=(4, 1))) == MatchState()
    assert bare(MatchState(7, (6, 5), crawford=True)) != bare(MatchState(7, (6, 5)))
    matches = Matches(Conditions(small_nets()))
    number = matches.number(MatchState(7, (3, 5)))
    assert number == matches.number(MatchState(11, (7, 9)))
    assert matches.turned(matches.turned(number)) == number


def test_keys_name_level_board_match_and_conditions() -> None:
    matches = Matches(Conditions(small_nets()))
    money, away = matches.number(MatchState()), matches.number(MatchState(5))
    board = START.tobytes()
    other = np.roll(START, 1).tobytes()
    keys = {matches.key(*one) for one in ((money, 2, board), (money, 3, board), (away, 2, board), (money, 2, other))}
    tables = [Conditions(small_nets(), met="woolsey"), Conditions(Nets(random_net(8)))]
    for conditions in tables:
        changed = Matches(conditions)
        keys.add(changed.key(changed.number(MatchState(5)), 2, board))
    assert len(keys) == 6


def test_matches_longer_than_tables_go_are_named() -> None:
    record = read_record(ILLEGAL.replace("3 point", "300 point").encode())
    with pytest.raises(InputError, match="away"):
        ask(record, Matches(Conditions(small_nets())))


# --- policies --------------------------------------------------------------------------------------------------------


def test_every_policy_that_comes_along_can_be_used() -> None:
    assert set(known_policies()) == {"quick", "normal", "deep"}
    for name in known_policies():
        policy = load_policy(name)
        assert policy.kept >= 5
    assert load_policy("normal").changed(2, 0.05).level == 2
    assert load_policy("normal").changed(None, 0.05).rollout_close == 0.05


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("level = 9", "level"),
        ("play_margin = -1.0", "play_margin"),
        ("surprise = 1", "surprise"),
        ('filter = "x"', "filter"),
    ],
)
def test_a_policy_that_can_not_be_is_refused(tmp_path: Path, line: str, field: str) -> None:
    shipped = Path("configs/analysis/quick.toml").read_text(encoding="utf-8")
    kept = [one for one in shipped.splitlines() if not one.startswith(line.split(" ", maxsplit=1)[0])]
    (tmp_path / "own.toml").write_text("\n".join([*kept, line]), encoding="utf-8")
    with pytest.raises(InputError, match=field):
        load_policy(str(tmp_path / "own.toml"))


@pytest.mark.parametrize(("level", "close"), [(0, None), (5, None), (None, -0.1), (None, 2.0)])
def test_depths_that_can_not_be_are_refused(level: int | None, close: float | None) -> None:
    with pytest.raises(InputError):
        load_policy("normal").changed(level, close)


def test_close_plays_are_rolled_out_and_compared_with_rollouts_only(tmp_path: Path) -> None:
    (tmp_path / "a.mat").write_text(ILLEGAL, encoding="utf-8")
    policy = small_policy(level=1)
    few = policy.rollout.model_copy(update={"trials": 36, "checkpoint": 36, "truncate": 5, "race": None})
    (found,) = matches_of(analysed(tmp_path, replace(policy, rollout_close=0.9, rollout=few)))
    rolled = [one for one in found.analysis.decisions if one.level == "rollout"]
    assert rolled
    for one in rolled:
        if one.kind is DecisionKind.PLAY:
            compared = [c for c in one.candidates if c.level == "rollout"]
            assert len(compared) == 2
            assert {one.best, one.done} <= {c.play for c in compared}, "what was played may turn out to be the best"
            assert all(c.se for c in compared)


# --- against another program -----------------------------------------------------------------------------------------


@pytest.mark.skipif("GAMMONFARM_DATA" not in os.environ, reason="GAMMONFARM_DATA does not name the reference data")
def test_ratings_are_near_those_of_extreme_gammon(tmp_path: Path) -> None:
    from cluster.nets import resolve_net, with_filter

    data = Path(os.environ["GAMMONFARM_DATA"])
    told = json.loads((data / "expected/stats_play65_7pt.json").read_text(encoding="utf-8"))["xg"]
    (tmp_path / "a.xg").write_bytes((data / "xg/play65_7pt.xg").read_bytes())
    nets = with_filter(resolve_net(None))
    (found,) = matches_of(list(analysis_with(load_policy("normal"), nets=nets).run(find_files([tmp_path]))))
    for figures in found.analysis.figures:
        expected = told[figures.name]
        assert figures.pr == pytest.approx(expected["pr"], abs=1.0)
        assert figures.decisions == pytest.approx(expected["total_decisions"], abs=3)
