"""An archive analysed by a farm: what this machine would find, in the order of the files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from archive_made import matches_of, write_matches
from test_client import URL, Through
from test_service import NETS, Service

from cluster.archive import on_farm
from cluster.archive.analysis import AnalysedMatch, ArchiveAnalysis
from cluster.archive.books import NO_BOOKS, BookLookup, Books
from cluster.archive.files import Skipped, find_files
from cluster.archive.matches import Conditions
from cluster.archive.on_farm import FarmAnalysis
from cluster.archive.policy import load_policy
from cluster.archive.session import AnalysisRequest
from cluster.cli.main import main
from cluster.client import Client
from cluster.executor import InlineExecutor
from cluster.store import JobKind, MemoryStore
from engine.analysis.language import Language
from engine.bearoff import Bearoff
from engine.errors import InfrastructureError, InputError


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three matches, one of them twice, and a file that holds none."""
    folder = tmp_path_factory.mktemp("archive")
    write_matches(folder, (1, 2, 3))
    (folder / "again.mat").write_bytes((folder / "m2.mat").read_bytes())
    (folder / "n-rotten.mat").write_bytes(b"\x00 nothing")
    return folder


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch, databases: Bearoff) -> Iterator[Service]:
    made = Service()
    with made.client:
        made.work_beside()
        yield made
    made.close()


def request_of(archive: Path, lookup: BookLookup = NO_BOOKS) -> AnalysisRequest:
    """With the nets of the farm."""
    return AnalysisRequest(
        tuple(find_files([archive])), None, Conditions(NETS), load_policy("quick"), Language.SPANISH, lookup
    )


def found_here(request: AnalysisRequest) -> list[AnalysedMatch | Skipped]:
    """By this process alone."""
    executor = InlineExecutor()
    analysis = ArchiveAnalysis(
        request.conditions,
        request.policy,
        request.language,
        MemoryStore(),
        lambda: executor,
        lambda *_: None,
        request.lookup,
    )
    return list(analysis.run(request.files))


def told(found: list[AnalysedMatch | Skipped]) -> list[object]:
    """All that reports are made of."""
    return [one if isinstance(one, Skipped) else (one.analysis, one.tallies, one.work.path) for one in found]


def test_a_farm_finds_what_this_machine_finds_books_included(
    service: Service, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_farm, "_MATCHES", 1)  # several batches
    with Client(URL, transport=Through(service)) as client, Books(shipped=True) as here, Books(shipped=True) as there:
        alone = found_here(request_of(archive, BookLookup(here)))
        analysis = FarmAnalysis(client, request_of(archive, BookLookup(there)), "shipped")
        farm = list(analysis.run(find_files([archive])))
        assert told(farm) == told(alone)
        assert there.used == here.used != ()
    assert [type(one) for one in farm] == [AnalysedMatch, AnalysedMatch, Skipped, AnalysedMatch, Skipped]
    assert any(one.book for match in matches_of(farm) for one in match.analysis.decisions)
    assert analysis.counted.decisions == sum(len(match.work.asked) for match in matches_of(farm))
    assert [job.kind for job in service.ledger._jobs.values()] == [JobKind.ANALYSE] * 3


def test_a_match_that_fails_on_the_farm_is_named_and_the_others_are_there(
    service: Service, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_farm, "MOST_LETTERS", 2000)  # m1 has 1,580, in base64
    with Client(URL, transport=Through(service)) as client:
        found = list(FarmAnalysis(client, request_of(archive), "shipped").run(find_files([archive])))
        refused = list(FarmAnalysis(client, request_of(archive), "no-such-net").run(find_files([archive])))
    reasons = {one.file: one.reason for one in found if isinstance(one, Skipped)}
    assert [match.analysis.file for match in matches_of(found)] == ["m1.mat"]
    assert {name for name, reason in reasons.items() if "too long" in reason} == {"again.mat", "m3.mat"}
    assert not matches_of(refused)
    assert sum("net" in one.reason for one in refused if isinstance(one, Skipped)) == len(matches_of(found))


@pytest.mark.parametrize(
    ("change", "field"),
    [("policy", "policy"), ("bearoff", "bearoff_checkers"), ("book", "book"), ("from_book", "from_book")],
)
def test_what_a_farm_does_not_do_is_said_before_anything_is_sent(
    service: Service, archive: Path, change: str, field: str
) -> None:
    request = request_of(archive)
    with Books("tavla") as named, Books(shipped=True) as shipped:
        changed = {
            "policy": replace(request, policy=replace(request.policy, name="mine.toml")),
            "bearoff": replace(request, conditions=Conditions(NETS, bearoff_checkers=7)),
            "book": replace(request, lookup=BookLookup(named)),
            "from_book": replace(request, lookup=BookLookup(shipped, instead=True)),
        }[change]
        with Client(URL, transport=Through(service)) as client, pytest.raises(InputError) as caught:
            FarmAnalysis(client, changed, "shipped")
    assert caught.value.field == field
    assert not service.ledger._jobs


def test_answers_that_end_early_are_a_farm_that_is_away(
    service: Service, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As behind a proxy that closes what it takes for a whole answer."""
    monkeypatch.setattr(Client, "batch_results", lambda self, batch: iter(()))
    with Client(URL, transport=Through(service)) as client, pytest.raises(InfrastructureError, match="before the last"):
        list(FarmAnalysis(client, request_of(archive), "shipped").run(request_of(archive).files))


def test_the_command_writes_reports_of_what_the_farm_found(
    service: Service, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GAMMONFARM_URL", URL)
    monkeypatch.setattr(Client, "from_environment", staticmethod(lambda: Client(URL, transport=Through(service))))
    out = tmp_path / "out"
    assert main(["analyse", str(archive), "--out", str(out), "--policy", "quick", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["matches"], report["copies"], report["unreadable"]) == (3, 1, 1)
    assert report["books"] == ["international"]
    assert (out / "index.html").stat().st_size > 10_000
    assert main(["analyse", str(archive), "--policy", "quick"]) == 0
    assert "valued by the farm" in capsys.readouterr().out
    assert main(["analyse", str(archive), "--bearoff-checkers", "7"]) == 2
    assert "bearoff_checkers" in capsys.readouterr().err
