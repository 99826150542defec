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
from cluster.store import MemoryStore, Store
from engine.bearoff import Bearoff
from engine.weights import save_net

QUICK = ("--policy", "quick", "--executor", "inline")


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, databases: Bearoff) -> Store:
    """One in memory: what servers do is tested elsewhere."""
    kept = MemoryStore()

    @contextmanager
    def opened(_: object) -> Iterator[Store]:
        yield kept

    monkeypatch.setattr(redis_store, "open_store", opened)
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
