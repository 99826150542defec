"""Naming nets, and the commands `match` and `nets`: what they print, refuse and record."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nets import random_filter, random_net

from cluster.cli.main import main
from cluster.match_schemas import (
    ComparisonReport,
    MatchEstimate,
    MatchReport,
    NetDetails,
    NetsReport,
    PairedBenchmark,
    PromotionReport,
)
from cluster.nets import resolve_net
from cluster.promotion import decide
from cluster.schemas import BenchmarkReport, Model
from engine.bearoff import Bearoff
from engine.board import START
from engine.errors import InputError
from engine.evaluator import Evaluator, Nets
from engine.gnuid import format_match_id, format_position_id
from engine.kernels.facts import CLASSES
from engine.notation import format_play
from engine.position import Position
from engine.rules import INTERNATIONAL
from engine.search import rank_plays
from engine.weights import make_net, save_net, shipped_net
from training.match import Verdict
from training.tracking import check_tracking

WEAK = make_net(random_net(21).arrays, {"recipe": "toy", "games": "30", "rules": "international"})
INLINE = ("--executor", "inline")


@pytest.fixture
def home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, session_home: Path, databases: Bearoff, tracking_uri: str
) -> Path:
    """A data folder with an empty registry."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "bearoff").symlink_to(session_home / "bearoff")
    check_tracking(tracking_uri)
    shutil.copy(tracking_uri.removeprefix("sqlite:///"), folder / "mlflow.db")
    monkeypatch.setenv("GAMMONFARM_HOME", str(folder))
    return folder


@pytest.fixture
def weak(tmp_path: Path) -> str:
    """The file of a net that plays at random."""
    path = tmp_path / "weak.safetensors"
    save_net(WEAK, path)
    return str(path)


@pytest.fixture
def decisions(tmp_path: Path) -> Path:
    """Three opening decisions on which the shipped net finds the best play and the weak one does not."""
    lines = []
    for dice in ((3, 1), (4, 2), (6, 1)):
        (right, *_), (wrong, *_) = (
            rank_plays(Evaluator(Nets(net)), START, dice, INTERNATIONAL) for net in (shipped_net(), WEAK)
        )
        assert right.after.tolist() != wrong.after.tolist()
        moves = [
            {"m": format_play(START, play.after, dice, INTERNATIONAL), "eq": equity, "ply": 4}
            for play, equity in ((right, 0.1), (wrong, -0.1 - 0.01 * dice[0]))
        ]
        ids = {"pos": format_position_id(START), "match": format_match_id(Position(START, dice=dice))}
        lines.append(json.dumps(ids | {"dice": dice, "moves": moves}))
    path = tmp_path / "three.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(home: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(arguments)
        out, err = capsys.readouterr()
        return code, out, err

    return run


def document(answer: tuple[int, str, str], model: type[Model], code: int = 0) -> Any:
    assert answer[0] == code, answer[2]
    return model.model_validate_json(answer[1])


# --- names -----------------------------------------------------------------------------------------------------------


def test_files_and_the_shipped_net_need_no_registry(weak: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAMMONFARM_MLFLOW_URI", "off")
    shipped = shipped_net().digest
    assert resolve_net(None).digest == resolve_net("shipped").digest == resolve_net(shipped[:7]).digest == shipped
    assert resolve_net(weak).digest == WEAK.digest
    with pytest.raises(InputError, match="GAMMONFARM_MLFLOW_URI"):
        resolve_net("champion")


@pytest.mark.parametrize("text", ["nothing", "abc", "12345", "zzzzzzzz"])
def test_what_is_no_name_of_a_net_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="expected a net file, shipped, champion"):
        resolve_net(text)


def test_a_registered_net_has_many_names(run: Run, weak: str, home: Path) -> None:
    document(run("nets", "register", weak, "--json"), NetsReport)
    Path(weak).unlink()
    for text in ("main@2", WEAK.digest, WEAK.digest[:8]):
        assert resolve_net(text).digest == WEAK.digest
    assert resolve_net("champion").digest == resolve_net("main@champion").digest == shipped_net().digest


# --- commands --------------------------------------------------------------------------------------------------------


def test_a_match_prints_one_document_and_is_recorded(run: Run, weak: str, home: Path) -> None:
    from mlflow.tracking import MlflowClient

    arguments = ("match", "shipped", weak, "--games", "100", *INLINE)
    report = document(run(*arguments, "--json"), MatchReport)
    r = report.result
    assert (r.a.name, r.b.name, r.games, r.verdict) == ("shipped", weak, 100, Verdict.A_BETTER)
    assert r.a.net is not None
    assert r.a.net.startswith(shipped_net().digest)
    code, out, _ = run(*arguments)
    assert code == 0
    assert "A plays better" in out
    assert "100 games from the cache" in out

    client = MlflowClient(tracking_uri=f"sqlite:///{home}/mlflow.db")
    experiment = client.get_experiment_by_name("gammonfarm matches")
    # The database begins as a copy of one that other tests write to.
    runs: list[Any] = [
        one for one in client.search_runs([experiment.experiment_id]) if one.data.params["b"].startswith(WEAK.digest)
    ]
    assert [one.data.metrics["points"] for one in runs] == [r.estimate.points] * 2
    assert {one.data.tags["verdict"] for one in runs} == {"a-better"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["shipped"], ["net", "second net", "--against gnubg"]),
        (["shipped", "shipped", "--against", "gnubg"], ["net", "shipped"]),
        (["shipped", "shipped", "--games", "7"], ["games", "7", "even"]),
        (["shipped", "shipped", "--games", "2"], ["games", "2", "whole number from 4"]),
        (["shipped", "shipped", "--level-b", "3"], ["level-b", "3"]),
        (["shipped", "--against", "gnubg", "--gnubg-level", "9"], ["gnubg-level", "9"]),
        (["shipped", "nowhere.safetensors"], ["net", "nowhere"]),
        (["shipped", "shipped", "--workers", "0"], ["workers", "0"]),
        (["shipped", "shipped", "--looks", "10", "--games", "100"], ["games", "100", "looks"]),
    ],
)
def test_matches_that_cannot_be_are_refused_in_one_line(run: Run, arguments: list[str], words: list[str]) -> None:
    code, out, err = run("match", *arguments)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert all(word in err for word in words), err


def test_nets_are_registered_with_scores_and_listed(run: Run, weak: str, decisions: Path) -> None:
    (net,) = document(run("nets", "register", weak, "--benchmark", str(decisions), "--json"), NetsReport).nets
    assert (net.name, net.version, net.digest, net.recipe, net.games) == ("main", 2, WEAK.digest, "toy", "30")
    (score,) = net.scores
    benchmark = document(run("benchmark", str(decisions), "--net", weak, "--json"), BenchmarkReport)
    assert (score.file, score.level, score.decisions) == ("three.jsonl", 1, 3)
    assert score.meq_per_decision == benchmark.checker.meq_per_decision > 0
    assert score.interval95 == benchmark.checker.interval95

    nets = document(run("nets", "list", "--json"), NetsReport).nets
    assert [(n.version, n.aliases) for n in nets] == [(1, ("champion",)), (2, ())]
    code, out, _ = run("nets", "list")
    assert code == 0
    assert WEAK.digest in out
    assert f"{score.meq_per_decision:.2f} 1-ply three.jsonl" in out


def test_a_net_is_shown_with_header_and_shapes(run: Run, weak: str) -> None:
    shown = document(run("nets", "show", weak, "--json"), NetDetails)
    assert (shown.digest, shown.kind, shown.width, shown.registered) == (WEAK.digest, "main", 32, ())
    assert shown.header == dict(WEAK.description)
    assert shown.shapes["second"] == (CLASSES, 32, 32)
    assert 0 < shown.quantisation_mean <= shown.quantisation_largest
    code, out, _ = run("nets", "show", "main@1")
    assert code == 0
    assert "main@1 (champion)" in out


def test_nets_are_compared_on_the_same_decisions_and_dice(run: Run, weak: str, decisions: Path) -> None:
    arguments = ("nets", "compare", "shipped", weak, "--games", "60", "--benchmark", str(decisions), *INLINE)
    report = document(run(*arguments, "--json"), ComparisonReport)
    assert report.benchmark.a_meq == 0
    assert report.benchmark.b_meq == pytest.approx(1000 * (0.2 * 3 + 0.03 + 0.04 + 0.06) / 3)
    assert report.benchmark.difference == pytest.approx(-report.benchmark.b_meq)
    assert report.benchmark.differing == 3
    assert report.match.result.verdict is Verdict.A_BETTER
    code, out, _ = run(*arguments)
    assert code == 0
    assert "difference -" in out
    assert "A plays better" in out
    assert run("nets", "compare", "shipped", weak, "--games", "0")[0] == 2


def test_a_worse_net_is_not_promoted(run: Run, weak: str) -> None:
    arguments = ("nets", "promote", weak, "--games", "1000", *INLINE)
    report = document(run(*arguments, "--json"), PromotionReport, code=1)
    assert not report.promoted
    assert report.match.result.verdict is Verdict.B_BETTER
    assert report.match.result.games < 1000, "the match ends as soon as it is decided"
    assert "not proven better" in report.reason
    assert resolve_net("champion").digest == shipped_net().digest
    code, out, _ = run(*arguments)
    assert code == 1
    assert out.splitlines()[-1].startswith("main@2 is not promoted: not proven better")


def test_a_better_net_becomes_champion_and_the_evidence_is_kept(run: Run, weak: str, decisions: Path) -> None:
    forced = document(run("nets", "promote", weak, "--force", "a weak one to beat", "--json"), PromotionReport)
    assert (forced.promoted, forced.match, forced.net.aliases) == (True, None, ("champion",))
    assert resolve_net("champion").digest == WEAK.digest

    arguments = ("nets", "promote", "shipped", "--games", "1000", "--benchmark", str(decisions), *INLINE)
    report = document(run(*arguments, "--json"), PromotionReport)
    assert report.promoted
    assert report.champion.digest == WEAK.digest
    assert report.net.aliases == ("champion",)
    (kept,) = document(run("nets", "show", "champion", "--json"), NetDetails).registered[0].promotions
    r = report.match.result
    assert (kept.replaced, kept.points, kept.interval95) == (WEAK.digest, r.estimate.points, r.estimate.interval95)
    assert (kept.games, kept.forced) == (r.games, None)
    assert kept.benchmark_difference == report.benchmark.difference < 0

    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert "another net than the champion main@1" in err
    code, out, _ = run("nets", "show", "main@2")
    assert code == 0
    assert "forced: a weak one to beat" in out


def test_the_first_net_of_a_line_becomes_its_champion_without_a_match(run: Run, weak: str) -> None:
    report = document(run("nets", "promote", weak, "--name", "sideline", "--json"), PromotionReport)
    assert (report.promoted, report.champion, report.match) == (True, None, None)
    assert resolve_net("sideline@champion").digest == WEAK.digest
    assert resolve_net("champion").digest == shipped_net().digest


def test_what_cannot_be_registered_is_refused(run: Run, tmp_path: Path, weak: str) -> None:
    save_net(random_filter(1), tmp_path / "filter.safetensors")
    for arguments in (
        ["nets", "register", str(tmp_path / "filter.safetensors")],
        ["nets", "register", weak, "--name", "two words"],
        ["nets", "promote", weak, "--force", " "],
        ["nets", "show", "main@17"],
    ):
        code, out, err = run(*arguments)
        assert (code, out, len(err.splitlines())) == (2, "", 1), err


def test_without_mlflow_there_is_no_registry(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAMMONFARM_MLFLOW_URI", "off")
    code, _, err = run("nets", "list")
    assert code == 2
    assert "GAMMONFARM_MLFLOW_URI" in err


# --- the decision ----------------------------------------------------------------------------------------------------


def paired(low: float, high: float) -> PairedBenchmark:
    mean = (low + high) / 2
    return PairedBenchmark(
        file="some.jsonl",
        level=1,
        decisions=100,
        a_meq=5.0 + mean,
        b_meq=5.0,
        difference=mean,
        se=(high - low) / 3.92,
        interval95=(low, high),
        differing=20,
    )


@pytest.fixture(scope="module")
def drawn() -> MatchReport:
    """A report to change."""
    from cluster.executor import InlineExecutor
    from cluster.match import MatchRun, NamedNets, plan_match
    from cluster.match_schemas import MatchRequest
    from cluster.store import MemoryStore

    nets = NamedNets("x", Nets(random_net(1)))
    question = plan_match(MatchRequest(games=4, variance_reduction=False, bearoff=False), nets, nets)
    return MatchRun(question, MemoryStore()).run(InlineExecutor, lambda _: None)


@pytest.mark.parametrize(
    ("verdict", "benchmark", "promoted", "words"),
    [
        (Verdict.A_BETTER, None, True, "better than the champion: +0.0200"),
        (Verdict.A_BETTER, paired(-1.0, 3.0), True, "better than the champion"),
        (Verdict.A_BETTER, paired(0.5, 3.0), False, "worse on some.jsonl"),
        (Verdict.UNDECIDED, paired(-3.0, -1.0), False, "not proven better"),
        (Verdict.EQUAL, None, False, "not proven better"),
        (Verdict.B_BETTER, None, False, "not proven better"),
    ],
)
def test_only_a_proven_better_net_that_is_not_proven_worse_is_promoted(
    drawn: MatchReport, verdict: Verdict, benchmark: PairedBenchmark | None, promoted: bool, words: str
) -> None:
    estimate = MatchEstimate(points=0.02, se=0.005, interval95=(0.01, 0.03))
    result = drawn.result.model_copy(update={"verdict": verdict, "estimate": estimate})
    decision = decide(drawn.model_copy(update={"result": result}), benchmark)
    assert decision.promoted is promoted
    assert words in decision.reason


def test_without_a_champion_nothing_has_to_be_beaten() -> None:
    assert decide(None, None).promoted
