"""Opening books over HTTP: what is accepted, the file, and the command that builds on a farm."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from books import TINY, tiny_recipe
from test_client import URL, Through, run
from test_farm_book import build_calmly
from test_service import Service, problem, rollout

from cluster.book.artifact import open_book
from cluster.book.recipe import BookRecipe, load_recipe
from cluster.book.schemas import BookBuildReport, BookResult
from cluster.client import AsyncClient, Client
from cluster.service.auth import Role, Tokens, new_token
from cluster.service.books import MEDIA_TYPE
from cluster.store import JobState
from engine.bearoff import Bearoff

RECIPE = tiny_recipe(budget=150)
"""A few openings."""


@pytest.fixture
def service(databases: Bearoff) -> Iterator[Service]:
    made = Service()
    with made.client:
        yield made
    made.close()


def submission(recipe: BookRecipe = RECIPE, **more: Any) -> dict[str, Any]:
    return {"kind": "book", "request": recipe.model_dump(mode="json") | more}


def test_a_book_is_submitted_built_read_and_fetched(service: Service, tmp_path: Path, databases: Bearoff) -> None:
    job = service.client.post("/v1/jobs", json=submission()).json()["job"]
    assert (job["kind"], job["priority"]) == ("book", "bulk")
    assert not service.client.post("/v1/jobs", json=submission()).json()["created"]
    service.work()
    result = BookResult.model_validate(service.client.get(f"/v1/jobs/{job['id']}/result").json()["result"])
    answer = service.client.get(f"/v1/jobs/{job['id']}/book")
    assert answer.headers["content-type"] == MEDIA_TYPE
    assert answer.headers["content-disposition"] == 'attachment; filename="tiny.book"'
    (tmp_path / "tiny.book").write_bytes(answer.content)
    with open_book(tmp_path / "tiny.book") as book:
        assert book.digest() == result.digest == build_calmly(tmp_path / "calm.book", RECIPE, databases)
        assert result.openings[0].plays[0].equity == next(book.entries()).plays[0].equity
    more = service.client.post(f"/v1/jobs/{job['id']}/extend", json={"trials": 200})
    assert (more.status_code, more.json()["job"]["request"]["budget"]["trials"]) == (201, 200)
    problem(service.client.post(f"/v1/jobs/{job['id']}/extend", json={"trials": 10}), 422, "input", "trials")


def test_a_book_under_way_can_be_fetched_as_far_as_it_is_there(service: Service, tmp_path: Path) -> None:
    job = service.client.post("/v1/jobs", json=submission(tiny_recipe(budget=2_000))).json()["job"]["id"]
    while len(service.ledger._values) < 3:
        service.farm.step()
    (tmp_path / "part.book").write_bytes(service.client.get(f"/v1/jobs/{job}/book").content)
    with open_book(tmp_path / "part.book") as book:
        assert 1 <= sum(book.info().entries) < 15


def test_a_book_whose_entries_are_forgotten_is_gone(service: Service) -> None:
    job = service.client.post("/v1/jobs", json=submission()).json()["job"]["id"]
    service.work()
    service.ledger._values.clear()
    problem(service.client.get(f"/v1/jobs/{job}/book"), 410, "gone")


def test_only_books_have_files(service: Service) -> None:
    job = service.client.post("/v1/jobs", json=rollout()).json()["job"]["id"]
    problem(service.client.get(f"/v1/jobs/{job}/book"), 409, "not-ready")
    problem(service.client.get(f"/v1/jobs/{'0' * 32}/book"), 404, "not-found")


@pytest.mark.parametrize(
    ("budget", "what"),
    [
        ({"trials": 3_000_000}, "units"),
        ({"trials": 1_000_000}, "entries"),
        ({"trials": 1_000, "minutes": 20_000}, "minutes"),
        ({}, "units"),
    ],
)
def test_a_book_that_is_too_large_is_refused(service: Service, budget: dict[str, Any], what: str) -> None:
    deep = [part.model_dump(mode="json") | {"most": 10} for part in (*RECIPE.depth, RECIPE.depth[-1])]
    refused = service.client.post("/v1/jobs", json=submission(budget=budget, depth=deep))
    assert what in problem(refused, 413, "too-large")["detail"]


def test_an_operator_sets_the_limits(databases: Bearoff) -> None:
    service = Service(entries=4, minutes=30)
    asked = submission(budget={"entries": 4, "minutes": 30})
    assert service.client.post("/v1/jobs", json=asked).status_code == 201
    for budget in ({"entries": 5, "minutes": 30}, {"entries": 4, "minutes": 31}, {"entries": 4}):
        problem(service.client.post("/v1/jobs", json=submission(budget=budget)), 413, "too-large")


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"name": "../../etc/passwd"}, "name"),
        ({"search": {"filter": "../x.toml"}}, "filter"),
        ({"depth": []}, "depth"),
        ({"score": "7"}, "score"),
        ({"rules": "chess"}, "rules"),
        ({"path": "/tmp/x"}, "request.path: there is no such field"),
    ],
)
def test_a_recipe_that_does_not_fit_is_refused_by_field(service: Service, more: dict[str, Any], field: str) -> None:
    refused = service.client.post("/v1/jobs", json=submission(**more))
    assert refused.status_code == 422
    assert field in (refused.json()["field"] or "") + refused.json()["detail"]
    assert service.ledger._jobs == {}


def test_a_file_needs_a_token_and_counts_in_the_rate(databases: Bearoff) -> None:
    token, line = new_token("anna", Role.SUBMIT)
    service = Service(Tokens(text=line), rate=1e-6, burst=50)
    headers = {"authorization": f"Bearer {token}"}
    job = service.client.post("/v1/jobs", json=submission(), headers=headers).json()["job"]["id"]
    problem(service.client.get(f"/v1/jobs/{job}/book"), 401, "unauthorized")
    codes = [service.client.get(f"/v1/jobs/{job}/book", headers=headers).status_code for _ in range(3)]
    assert codes == [200, 200, 429]


def test_the_document_describes_the_file(service: Service) -> None:
    document = service.client.get("/openapi.json").json()
    described = document["paths"]["/v1/jobs/{job_id}/book"]["get"]["responses"]["200"]
    content = described["content"][MEDIA_TYPE]
    assert content["schema"]["format"] == "binary"
    assert content["example"].startswith("SQLite format 3")
    assert "application/json" not in described["content"]


def test_the_asynchronous_client_fetches_the_file(service: Service) -> None:
    job = service.client.post("/v1/jobs", json=submission()).json()["job"]["id"]
    service.work()

    async def fetch() -> bytes:
        transport = httpx.ASGITransport(service.app)
        async with AsyncClient(URL, transport=transport) as client:
            return await client.book(job)

    assert asyncio.run(fetch()) == service.client.get(f"/v1/jobs/{job}/book").content


# --- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture
def named(service: Service, monkeypatch: pytest.MonkeyPatch) -> Service:
    monkeypatch.setenv("GAMMONFARM_URL", URL)
    monkeypatch.setattr(
        "cluster.client.Client.from_environment", staticmethod(lambda: Client(URL, transport=Through(service)))
    )
    service.work_beside()
    return service


def test_the_command_builds_on_the_farm_that_is_named_and_goes_on_with_a_file(
    named: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str], databases: Bearoff
) -> None:
    recipe, out = tmp_path / "tiny.toml", tmp_path / "mine.book"
    recipe.write_text(TINY.format(rules="hypergammon", score="money", cube="cube = false", budget=150))
    command = ("book", "build", str(recipe), "--out", str(out), "--json")
    first = BookBuildReport.model_validate_json(run(capsys, *command))
    assert first.computed == sum(first.book.entries) > 2
    assert not first.finished
    with open_book(out) as book:
        assert book.digest() == build_calmly(tmp_path / "calm.book", load_recipe(str(recipe)), databases)
    more = BookBuildReport.model_validate_json(run(capsys, *command, "--trials", "250"))
    assert sum(more.book.entries) == sum(first.book.entries) + more.computed
    assert "computed" in run(capsys, *command[:-1])
    (job, *_) = json.loads(run(capsys, "jobs", "list", "--json"))["jobs"]
    assert (job["kind"], job["state"]) == ("book", JobState.DONE.value)
    shown = run(capsys, "jobs", "show", job["id"])
    assert "best play" in shown
    assert "book tiny: hypergammon, money, no cube" in shown
    other = recipe.with_name("other.toml")
    other.write_text(recipe.read_text().replace('name = "tiny"', 'name = "tiny"\nseed = 2'))
    assert "seed" in run(capsys, "book", "build", str(other), "--out", str(out), code=2)


def test_a_book_that_ran_into_its_deadline_is_fetched_as_far_as_it_goes(
    named: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, recipe = tmp_path / "late.book", tmp_path / "tiny.toml"
    recipe.write_text(TINY.format(rules="hypergammon", score="money", cube="cube = false", budget=100_000))
    monkeypatch.setattr("cluster.farm.coordinator._NOTE_SECONDS", 0.0)
    command = ("book", "build", str(recipe), "--out", str(out), "--minutes", "0.01", "--json")
    report = BookBuildReport.model_validate_json(run(capsys, *command))
    assert not report.finished
    with sqlite3.connect(out) as file:
        assert file.execute("SELECT COUNT(*) FROM entry").fetchone()[0] == sum(report.book.entries)
