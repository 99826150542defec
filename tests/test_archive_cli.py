"""`analyse` and `similar`: what they print, write and refuse."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from archive_made import small_nets, write_matches

from cluster import redis_store
from cluster.archive.schemas import AnalyseReport, SimilarReport
from cluster.cli.main import main
from cluster.store import JobKind, JobState, MemoryStore, Store
from cluster.tracking import ARCHIVE_EXPERIMENT
from engine.bearoff import Bearoff
from engine.weights import save_net
from training.tracking import connect

QUICK = ("--policy", "quick", "--executor", "inline")


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, databases: Bearoff) -> Store:
    """One in memory: what servers do is tested elsewhere."""
    kept = MemoryStore()

    @contextmanager
    def opened(_: object) -> Iterator[Store]:
        yield kept

    monkeypatch.setattr(redis_store, "open_store", opened)
    monkeypatch.setenv("GAMMONFARM_MLFLOW_URI", "off")
    return kept


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("net") / "small.safetensors"
    save_net(small_nets().main, path)
    return str(path)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    write_matches(tmp_path / "in", (1,))
    (tmp_path / "in" / "rotten.mat").write_bytes(b"\x00 nothing")
    return tmp_path / "in"


@pytest.mark.usefixtures("store")
def test_an_archive_is_analysed_into_a_folder_and_searched(
    archive: Path, tmp_path: Path, net: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["analyse", str(archive), "--out", str(out), "--net", net, "--language", "pt", *QUICK, "--json"]) == 0
    said = capsys.readouterr()
    report = AnalyseReport.model_validate_json(said.out)
    assert (report.matches, report.policy, report.level) == (1, "quick", 1)
    assert report.levels == {"1-ply": report.decisions}
    assert [one.file for one in report.skipped] == ["rotten.mat"]
    assert "rotten.mat skipped" in said.err or "rotten.mat" in str(report.skipped)
    assert {one.name for one in report.players} == {"Fox", "Ümit"}
    assert '<html lang="pt">' in (out / "index.html").read_text(encoding="utf-8")
    (document,) = (out / "matches").glob("*.json")
    xgid = next(one["xgid"] for one in json.loads(document.read_bytes())["decisions"] if one["dice"])
    assert main(["similar", xgid, "--in", str(out), "--json"]) == 0
    found = SimilarReport.model_validate_json(capsys.readouterr().out)
    assert found.similar[0].percent == 100
    assert main(["similar", xgid, "--in", str(out)]) == 0
    assert "m1.mat" in capsys.readouterr().out


@pytest.mark.usefixtures("store")
def test_people_see_players_levels_and_what_was_left_out(
    archive: Path, net: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["analyse", str(archive), "--net", net, *QUICK]) == 0
    text = capsys.readouterr().out
    for part in ("Fox", "Ümit", "1 files that can't be read", "by level: 1-ply", "distinct positions"):
        assert part in text


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--policy", "nothing"], ["policy", "'nothing'", "quick"]),
        (["--level", "7"], ["level", "'7'"]),
        (["--rollout-close", "-1"], ["rollout_close", "'-1"]),
        (["--met", "nothing"], ["match equity table", "'nothing'"]),
        (["--workers", "0"], ["workers", "'0'"]),
        (["--book", "nothing"], ["book", "'nothing'", "international"]),
        (["--book", "none", "--from-book"], ["from_book", "none"]),
    ],
)
def test_mistakes_are_one_line(
    archive: Path, net: str, arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["analyse", str(archive), "--net", net, "--executor", "inline", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert all(word in said.err for word in words)


@pytest.mark.usefixtures("store")
def test_without_a_match_there_is_nothing_to_analyse(
    tmp_path: Path, net: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.mat").write_bytes(b"\x00")
    assert main(["analyse", str(tmp_path), "--net", net, *QUICK]) == 2
    assert "at least one match" in capsys.readouterr().err


def test_an_analysis_leaves_a_job_and_a_run(
    archive: Path,
    net: str,
    store: Store,
    tracking_uri: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("GAMMONFARM_MLFLOW_URI", tracking_uri)
    assert main(["analyse", str(archive), "--net", net, *QUICK, "--json"]) == 0
    report = AnalyseReport.model_validate_json(capsys.readouterr().out)
    job = store.get_job(report.job)
    assert job is not None
    assert (job.kind, job.state, job.blocks_done, job.blocks_total) == (JobKind.ANALYSE, JobState.DONE, 2, 2)
    assert json.loads(job.request)["policy"] == "quick"
    client = connect(tracking_uri)
    experiment = client.get_experiment_by_name(ARCHIVE_EXPERIMENT)
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.status == "FINISHED"
    assert (run.data.params["policy"], run.data.params["files"]) == ("quick", "2")
    assert run.data.metrics["matches"] == report.matches == 1
    assert run.data.metrics["decisions"] == report.decisions
    assert run.data.metrics["pr"] == pytest.approx(report.pr)
    assert run.data.tags["job"] == report.job
    assert run.data.tags["books"] == "international"


def test_an_analysis_without_a_match_leaves_a_failed_job(tmp_path: Path, net: str, store: Store) -> None:
    (tmp_path / "x.mat").write_bytes(b"\x00")
    assert main(["analyse", str(tmp_path), "--net", net, *QUICK]) == 2
    (job,) = store.list_jobs()
    assert job.state is JobState.FAILED
    assert "at least one match" in job.message


@pytest.mark.usefixtures("store")
def test_a_book_stands_beside_the_analysis_unless_it_is_left_out(
    archive: Path, tmp_path: Path, net: str, capsys: pytest.CaptureFixture[str]
) -> None:
    reports = {}
    for options in ((), ("--book", "none"), ("--from-book",)):
        out = tmp_path / f"out{len(reports)}"
        assert main(["analyse", str(archive), "--out", str(out), "--net", net, *QUICK, *options, "--json"]) == 0
        reports[options] = AnalyseReport.model_validate_json(capsys.readouterr().out)
    beside, without, instead = reports.values()
    assert (beside.books, without.books, instead.books) == (("international",), (), ("international",))
    assert (beside.from_book, instead.from_book) == (False, True)
    assert beside.levels == without.levels
    assert beside.pr == without.pr
    document = json.loads((tmp_path / "out2" / "archive.json").read_bytes())
    assert document["conditions"]["from_book"] is True
    assert document["books"][0]["score"] == "money"
