"""The HTTP API: what it accepts, refuses, streams; on a farm in this process with small random nets."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi.testclient import TestClient
from nets import random_filter, random_net

from cluster.farm.coordinator import Farm, FarmOptions
from cluster.farm.desk import Desk
from cluster.farm.pool import InlinePool
from cluster.ledger import Event, EventKind, Submission
from cluster.memory_ledger import MemoryLedger
from cluster.scheduling import Priority
from cluster.schemas import RolloutResult
from cluster.service import batches
from cluster.service.app import create_app
from cluster.service.auth import Role, Tokens, new_token
from cluster.service.limits import Limits, Rates
from cluster.service.problems import ProblemError
from cluster.service.server import Server
from cluster.service.streams import Hub, job_events
from cluster.service_models import Extension, JobAnswer, JobView, PriorityChange, Problem
from cluster.store import JobKind, JobRecord, JobState
from engine.errors import InfrastructureError, InputError
from engine.evaluator import Nets

BEAR_OFF = "XGID=-BBB" + "-" * 18 + "bbb-:0:0:1:21:0:0:0:0:10"
NETS = Nets(random_net(3), random_filter(3))
DESK = Desk(nets=lambda name: NETS)


def rollout(**fields: Any) -> dict[str, Any]:
    request = {"position": BEAR_OFF, "plays": ["2/off 1/off", "3/off"], "trials": 36, "bearoff": False} | fields
    return {"kind": "rollout", "request": request}


class Service:
    """An API over a ledger, and a coordinator that works once it is told to."""

    def __init__(self, tokens: Tokens | None = None, **limits: Any) -> None:
        self.ledger = MemoryLedger()
        self.app = create_app(self.ledger, DESK, tokens or Tokens(), Limits(**limits))
        self.client = TestClient(self.app, base_url="http://127.0.0.1", raise_server_exceptions=False)
        self.farm = Farm(self.ledger, InlinePool(), DESK, FarmOptions("test", golden=False))
        self._stop = threading.Event()

    def work(self) -> None:
        """Let all open jobs end."""
        while self.ledger._open:
            self.farm.step()

    def work_beside(self) -> None:
        """Work in a thread."""
        threading.Thread(target=self.farm.run, args=(self._stop, 0.01), daemon=True).start()

    def close(self) -> None:
        self._stop.set()

    def submit(self, expected: int = 201, **fields: Any) -> dict[str, Any]:
        answer = self.client.post("/v1/jobs", json=rollout(**fields))
        assert answer.status_code == expected, answer.text
        found: dict[str, Any] = answer.json()
        return found


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service()
    with made.client:
        yield made
    made.close()


def problem(answer: Any, status: int, code: str, field: str | None = None) -> dict[str, Any]:
    """Check that an answer is a problem; its document."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = answer.json()
    assert found["status"] == status
    assert found["code"] == code
    assert found["field"] == field
    assert "Traceback" not in answer.text
    return found


def events_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]


# --- jobs ------------------------------------------------------------------------------------------------------------


def test_a_submission_becomes_a_job_whose_answer_can_be_fetched(service: Service) -> None:
    answer = service.client.post("/v1/jobs", json=rollout())
    assert answer.status_code == 201
    job = answer.json()["job"]
    assert answer.headers["location"] == f"/v1/jobs/{job['id']}"
    assert (job["state"], job["client"], job["priority"]) == ("queued", "local", "normal")
    assert job["request"]["trials"] == 36
    waiting = service.client.get(f"/v1/jobs/{job['id']}/result")
    problem(waiting, 409, "not-ready")
    assert waiting.headers["retry-after"]
    service.work()
    assert service.client.get(f"/v1/jobs/{job['id']}").json()["state"] == "done"
    text = service.client.get(f"/v1/jobs/{job['id']}/result").content
    found = JobAnswer.model_validate_json(text)
    RolloutResult.model_validate(found.result)
    assert found.provenance is not None
    assert found.provenance["job"] == job["id"]
    # The exact part is passed through byte by byte.
    stored = service.ledger.get_result(job["id"])
    assert stored is not None
    assert stored in text


def test_the_same_question_is_the_same_job_however_it_is_written(service: Service) -> None:
    first = service.submit()
    again = service.submit(200, plays=["3/off", "2/off 1/off"], block=10)
    assert not again["created"]
    assert again["job"]["id"] == first["job"]["id"]
    assert service.submit(seed=2)["job"]["id"] != first["job"]["id"]


def test_an_answer_of_a_version_with_other_fields_is_made_again_when_it_is_asked_for(service: Service) -> None:
    job = service.submit()["job"]["id"]
    service.work()
    answer = service.ledger.get_result(job)
    assert answer is not None
    record = service.ledger._jobs[job]
    versions = json.loads(record.report)["provenance"]["versions"]
    elder = record.report.replace(f'"gammonfarm":"{versions["gammonfarm"]}"', '"gammonfarm":"0.0.1"')
    service.ledger._jobs[job] = dataclasses.replace(record, report=elder)
    assert service.submit(200)["job"]["id"] == job  # its fields are still the same
    service.ledger.put_result(job, b'{"of another":"time"}')
    again = service.submit(201)["job"]["id"]
    assert again == f"{job}-2"
    service.work()
    assert service.ledger.get_result(job) == answer
    assert service.submit(200)["job"]["id"] == again


def test_asking_again_in_a_higher_class_moves_the_job_up_and_never_down(service: Service) -> None:
    service.submit()
    up = service.client.post("/v1/jobs", json=rollout() | {"priority": "interactive"}).json()
    assert up["job"]["priority"] == "interactive"
    down = service.client.post("/v1/jobs", json=rollout() | {"priority": "bulk"}).json()
    assert down["job"]["priority"] == "interactive"


def test_a_job_can_be_cancelled_once_and_its_question_asked_again(service: Service) -> None:
    job = service.submit()["job"]["id"]
    cancelled = service.client.post(f"/v1/jobs/{job}/cancel").json()
    assert (cancelled["state"], cancelled["message"]) == ("cancelled", "by local")
    assert service.client.post(f"/v1/jobs/{job}/cancel").json() == cancelled
    gone = service.client.get(f"/v1/jobs/{job}/result")
    problem(gone, 409, "cancelled")
    assert "retry-after" not in gone.headers  # it will never be there
    assert service.submit()["job"]["id"] == f"{job}-2"


def test_a_job_can_be_extended(service: Service) -> None:
    job = service.submit()["job"]["id"]
    longer = service.client.post(f"/v1/jobs/{job}/extend", json={"trials": 72})
    assert longer.status_code == 201
    assert longer.json()["job"]["request"]["trials"] == 72
    service.work()
    answer = service.client.get(f"/v1/jobs/{longer.json()['job']['id']}/result").json()
    assert [c["trials"] for c in answer["result"]["candidates"]] == [72, 72]
    problem(service.client.post(f"/v1/jobs/{job}/extend", json={"trials": 36}), 422, "input", "trials")
    problem(service.client.post(f"/v1/jobs/{job}/extend", json={}), 422, "input", "trials")


def test_the_class_of_a_job_can_be_changed_until_it_ends(service: Service) -> None:
    job = service.submit()["job"]["id"]
    moved = service.client.put(f"/v1/jobs/{job}/priority", json={"priority": "bulk"})
    assert moved.json()["priority"] == "bulk"
    service.work()
    problem(service.client.put(f"/v1/jobs/{job}/priority", json={"priority": "normal"}), 409, "not-ready")


def test_jobs_are_listed_by_page(service: Service) -> None:
    ids = [service.submit(seed=seed)["job"]["id"] for seed in range(5)]
    first = service.client.get("/v1/jobs", params={"limit": 3}).json()
    second = service.client.get("/v1/jobs", params={"limit": 3, "before": first["before"]}).json()
    assert [job["id"] for job in first["jobs"] + second["jobs"]] == ids[::-1]
    assert second["before"] is None
    assert service.client.get("/v1/jobs", params={"state": "done"}).json()["jobs"] == []
    assert len(service.client.get("/v1/jobs", params={"kind": "rollout", "client": "local"}).json()["jobs"]) == 5


def test_long_questions_are_neither_kept_in_memory_nor_told_in_lists(service: Service) -> None:
    match = "1 point match\n\n Game 1\n A : 0     B : 0\n  1) 31: 8/5 6/5    42: 8/4 6/4\n"
    records = [f'; [Event "{number}"]\n{"; " + 100_000 * "x"}\n{match}' for number in range(2)]
    for record in [*records, records[0]]:
        answer = service.client.post("/v1/jobs", json={"kind": "analyse", "request": {"text": record}})
        assert answer.status_code in (200, 201), answer.text
    assert answer.status_code == 200
    listed = service.client.get("/v1/jobs").json()["jobs"]
    assert [len(job["request"]["text"]) < 600 for job in listed] == [True, True]
    assert len(service.client.get(f"/v1/jobs/{listed[0]['id']}").json()["request"]["text"]) > 100_000
    front = service.app.state.shared.front
    assert len(front._keys) == 2
    assert sum(len(key) for key in front._keys) < 100


def test_an_evaluation_is_a_job_too(service: Service) -> None:
    position = "XGID=-b----E-C---eE---c-e----B-:0:0:1:31:0:0:0:0:10"
    answer = service.client.post("/v1/jobs", json={"kind": "evaluate", "request": {"position": position}}).json()
    assert answer["job"]["priority"] == "interactive"
    service.work()
    found = service.client.get(f"/v1/jobs/{answer['job']['id']}/result").json()
    assert found["result"]["plays"]


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (rollout(position="XGID=nonsense"), "XGID"),
        (rollout(plays=["1/off 1/off"]), "play"),
        (rollout(trials=0), "request.trials"),
        (rollout(colour="red"), "request.colour"),
        (rollout(cube=True, met="/etc/passwd"), "met"),
        (rollout(cube=True, met="x.xml"), "met"),
        (rollout(cube=True, efficiency="../x.toml"), "efficiency"),
        (rollout() | {"net": "/etc/passwd"}, "net"),
        (rollout() | {"net": "../x.safetensors"}, "net"),
        (rollout() | {"priority": "urgent"}, "priority"),
        ({"kind": "divination", "request": {}}, "kind"),
        ({"request": {}}, "kind"),
        ({"kind": "evaluate", "request": {"position": BEAR_OFF, "met": "/etc/passwd"}}, "met"),
        ({"kind": "evaluate", "request": {"position": BEAR_OFF, "filter": "x.toml"}}, "filter"),
        ({"kind": "train", "request": {"recipe": "main"}}, "recipe"),
        ({"kind": "train", "request": {"recipe": "../quick"}}, "recipe"),
        ([], None),
        ("text", None),
    ],
)
def test_a_submission_that_makes_no_sense_names_its_field(service: Service, body: Any, field: str | None) -> None:
    problem(service.client.post("/v1/jobs", json=body), 422, "input", field)
    assert service.ledger._jobs == {}


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (rollout(trials=0), "request.trials: '0': expected a number greater than or equal to 1"),
        (rollout(position="x" * 201), f"request.position: '{'x' * 77}...': expected at most 200 characters"),
        (rollout(plays="24/13"), "request.plays: '24/13': expected a tuple"),
        (rollout(plays=["24/13"] * 30), "request.plays: 'a list': expected at most 20 items"),
        (
            rollout(colour="red"),
            "request.colour: there is no such field; GET /v1/kinds has those there are",
        ),
        ({"kind": "rollout"}, "request: missing: expected a value"),
        ({"request": {}}, "kind: missing: expected one of rollout, deep, evaluate, analyse, book, train"),
        (
            {"kind": "divination"},
            "kind: 'divination': expected one of rollout, deep, evaluate, analyse, book, train",
        ),
        ([], "expected a JSON object, sent with Content-Type: application/json"),
    ],
)
def test_a_refusal_says_what_was_given_and_what_was_expected(service: Service, body: Any, detail: str) -> None:
    answer = service.client.post("/v1/jobs", json=body)
    assert (answer.status_code, answer.json()["detail"]) == (422, detail)


def test_a_body_that_is_no_json_and_an_address_that_is_none_are_called_that(service: Service) -> None:
    headers = {"content-type": "application/json"}
    assert "no JSON" in service.client.post("/v1/jobs", content=b"{", headers=headers).json()["detail"]
    unsaid = service.client.post("/v1/jobs", content=json.dumps(rollout()), headers={"content-type": "text/plain"})
    assert "Content-Type: application/json" in unsaid.json()["detail"]
    assert "/openapi.json" in service.client.get("/v2/jobs").json()["detail"]
    assert "id of a job" in service.client.get("/v1/jobs/nonsense").json()["detail"]
    assert "DELETE is not for" in service.client.delete("/v1/jobs").json()["detail"]


def test_a_misspelt_filter_is_refused(service: Service) -> None:
    found = problem(service.client.get("/v1/jobs", params={"stat": "running"}), 422, "input", "stat")
    assert found["detail"] == "stat: 'running': expected one of the parameters state, kind, client, before, limit"
    named = {"state": "done", "kind": "rollout", "client": "anna", "before": 1, "limit": 5}
    assert service.client.get("/v1/jobs", params=named).json() == {"jobs": [], "before": None}


def test_extending_says_by_what_a_job_is_extended(service: Service) -> None:
    job = service.submit()["job"]["id"]
    for changes, detail in (
        ({}, "trials: 'nothing': expected a whole number from 37 to 1000000"),
        ({"trials": 36}, "trials: '36': expected a whole number from 37 to 1000000"),
        ({"level": 2}, "level: '2': expected trials: that is what such a job is extended by"),
    ):
        refused = service.client.post(f"/v1/jobs/{job}/extend", json=changes)
        assert (refused.status_code, refused.json()["detail"]) == (422, detail)


def test_a_job_of_a_command_is_shown_but_has_no_answer_here(service: Service) -> None:
    job = "ab" * 6
    service.ledger._jobs[job] = JobRecord(job, JobKind.ROLLOUT, JobState.DONE, "{}", 1.0, 1.0)
    assert service.client.get(f"/v1/jobs/{job}").json()["client"] == ""
    for path in ("result", "events"):
        found = problem(service.client.get(f"/v1/jobs/{job}/{path}"), 409, "not-ready")
        assert "command that works for itself" in found["detail"]


def test_a_stream_that_goes_on_after_a_number_that_was_never_given_ends_with_the_final_event(service: Service) -> None:
    job = service.submit()["job"]["id"]
    service.work_beside()
    text = service.client.get(f"/v1/jobs/{job}/events", headers={"Last-Event-ID": "999"}).text
    assert events_of(text)[-1]["kind"] == "done"


def test_event_streams_end_in_good_order_when_the_server_stops(service: Service) -> None:
    job = service.submit()["job"]["id"]

    async def listen() -> list[Event]:
        hub = Hub(service.ledger, 10)
        hub.start()
        heard = []
        async for events in job_events(hub, job, 0):
            heard += events
            hub.end_streams()
        hub.close()
        return heard

    assert [event.kind for event in asyncio.run(listen())] == [EventKind.QUEUED]


def test_a_server_that_is_told_to_stop_lets_its_streams_end_and_closes(service: Service) -> None:
    """With a real connection, because only then there is something to wait for."""
    job = service.submit()["job"]["id"]
    shared = service.app.state.shared
    server = Server(uvicorn.Config(service.app, port=0, log_config=None, timeout_graceful_shutdown=None), shared.hub)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            thread.join(0.01)
            assert thread.is_alive()
        port = server.servers[0].sockets[0].getsockname()[1]
        with httpx.stream("GET", f"http://127.0.0.1:{port}/v1/jobs/{job}/events", timeout=60) as answer:
            lines = answer.iter_lines()
            assert next(line for line in lines if line.startswith("event:")) == "event: queued"
            server.handle_exit(signal.SIGTERM, None)
            assert [line for line in lines if line.startswith("event:")] == []
    finally:
        server.should_exit = server.force_exit = True
        thread.join()
    shared.hub.end_streams()  # also once the loop is closed


def test_bytes_that_are_no_json_are_refused(service: Service) -> None:
    answer = service.client.post("/v1/jobs", content=b"\xff{", headers={"content-type": "application/json"})
    problem(answer, 400, "input")


@pytest.mark.parametrize("path", ["", "/result", "/events"])
def test_an_unknown_job_is_not_found(service: Service, path: str) -> None:
    problem(service.client.get(f"/v1/jobs/{'0' * 32}{path}"), 404, "not-found")
    problem(service.client.get(f"/v1/jobs/..%2f..%2fetc{path}"), 404, "not-found")
    problem(service.client.get(f"/v1/jobs/nonsense{path}"), 422, "input", "job_id")


def test_a_body_that_is_too_large_is_refused_whether_it_says_so_or_not() -> None:
    service = Service(body=2000)
    text = json.dumps(rollout(position="x" * 3000))
    headers = {"content-type": "application/json"}
    problem(service.client.post("/v1/jobs", content=text, headers=headers), 413, "too-large")
    unsaid = service.client.post(
        "/v1/jobs", content=iter([text[:1500].encode(), text[1500:].encode()]), headers=headers
    )
    problem(unsaid, 413, "too-large")
    problem(service.client.get("/v1/jobs?client=" + "x" * 600), 413, "too-large")


def test_a_job_that_is_too_large_is_refused() -> None:
    service = Service(size=1000)
    problem(service.client.post("/v1/jobs", json=rollout(trials=501)), 413, "too-large")
    service.submit(trials=500)


@pytest.mark.parametrize("recipe", ["quick", "td"])
def test_a_training_without_end_is_refused_and_those_that_are_shipped_are_not(service: Service, recipe: str) -> None:
    asked = {"kind": "train", "request": {"recipe": recipe}}
    assert service.client.post("/v1/jobs", json=asked).status_code == 201
    asked["request"] |= {"generations": 100_000, "games_per_shard": 20_000}  # type: ignore[operator]
    assert "2,000,000" in problem(service.client.post("/v1/jobs", json=asked), 413, "too-large")["detail"]


def test_too_many_requests_are_told_when_to_come_back() -> None:
    service = Service(rate=0.01, burst=3)
    for _ in range(3):
        assert service.client.get("/v1/kinds").status_code == 200
    refused = service.client.get("/v1/kinds")
    problem(refused, 429, "too-many")
    assert 90 <= int(refused.headers["retry-after"]) <= 100
    assert service.client.get("/health").status_code == 200


def test_a_bucket_fills_again_with_time_and_a_batch_counts() -> None:
    now = [0.0]
    rates = Rates(Limits(rate=10, burst=100), clock=lambda: now[0])
    rates.take("anna", 1000)
    with pytest.raises(ProblemError):
        rates.take("anna")
    rates.take("ben")
    now[0] = 90.2
    rates.take("anna")


def test_while_redis_is_away_the_api_says_so(service: Service) -> None:
    def away(*_: Any, **__: Any) -> Any:
        raise InfrastructureError("redis at redis://:***@farm:6379: Connection refused.")

    service.farm.step()
    assert service.client.get("/v1/status").json()["ledger_problem"] == ""
    service.ledger.submit = service.ledger.probe = away  # type: ignore[method-assign]
    refused = service.client.post("/v1/jobs", json=rollout())
    problem(refused, 503, "unavailable")
    assert refused.headers["retry-after"]
    assert service.client.get("/ready").status_code == 503
    assert service.client.get("/health").status_code == 200
    status = service.client.get("/v1/status").json()
    assert "Connection refused" in status["ledger_problem"]
    assert status["coordinator"] == "test"


def test_a_failure_of_ours_is_a_problem_without_details(service: Service) -> None:
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("secret")

    service.ledger.find_jobs = broken  # type: ignore[method-assign]
    assert "secret" not in json.dumps(problem(service.client.get("/v1/jobs"), 500, "internal"))


# --- who may do what -------------------------------------------------------------------------------------------------


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[tuple[Service, Callable[[str], dict[str, str]]]]:
    made = {
        name: new_token(name, role)
        for name, role in (("anna", Role.SUBMIT), ("ben", Role.SUBMIT), ("op", Role.OPERATE))
    }
    file = tmp_path / "tokens"
    file.write_text("# who\n" + "\n".join(line for _, line in made.values()))
    service = Service(Tokens(file))
    with service.client:
        yield service, lambda name: {"authorization": f"Bearer {made[name][0]}"}


def test_without_a_known_token_only_the_health_is_told(guarded: Any) -> None:
    service, _ = guarded
    for path in ("/v1/jobs", "/v1/status", "/v1/kinds", "/metrics", f"/v1/jobs/{'0' * 32}/events"):
        for headers in ({}, {"authorization": "Bearer gf_wrong"}, {"authorization": "Basic eDp5"}):
            refused = service.client.get(path, headers=headers)
            problem(refused, 401, "unauthorized")
            assert refused.headers["www-authenticate"] == "Bearer"
    assert service.client.post("/v1/jobs", json=rollout()).status_code == 401
    assert service.client.get("/health").status_code == 200


def test_large_bodies_are_read_of_known_callers_only(guarded: Any) -> None:
    service, of = guarded
    large = {"jobs": [{"kind": "unknown", "padding": "x" * 100_000} for _ in range(3)]}
    for headers in ({}, {"Authorization": "Bearer gf_of_somebody_else"}, {"Authorization": "Basic x"}):
        problem(service.client.post("/v1/batches", json=large, headers=headers), 413, "too-large")
    assert service.client.post("/v1/batches", json=large, headers=of("anna")).status_code == 201
    problem(service.client.post("/v1/batches", json={"jobs": [rollout()]}), 401, "unauthorized")


def test_a_job_that_two_clients_asked_for_goes_on_until_both_have_cancelled(guarded: Any) -> None:
    service, of = guarded
    first, second = (service.client.post("/v1/jobs", json=rollout(), headers=of(n)).json() for n in ("anna", "ben"))
    assert not second["created"]
    path = f"/v1/jobs/{first['job']['id']}/cancel"
    assert service.client.post(path, headers=of("anna")).json()["state"] == "queued"
    problem(service.client.post(path, headers=of("anna")), 403, "forbidden")
    assert service.client.post(path, headers=of("ben")).json()["state"] == "cancelled"


def test_only_the_owner_or_an_operator_may_end_or_move_a_job(guarded: Any) -> None:
    service, of = guarded
    job = service.client.post("/v1/jobs", json=rollout(), headers=of("anna")).json()["job"]
    assert job["client"] == "anna"
    path = f"/v1/jobs/{job['id']}"
    assert service.client.get(path, headers=of("ben")).status_code == 200
    problem(service.client.post(f"{path}/cancel", headers=of("ben")), 403, "forbidden")
    problem(service.client.put(f"{path}/priority", json={"priority": "bulk"}, headers=of("ben")), 403, "forbidden")
    assert service.client.put(f"{path}/priority", json={"priority": "bulk"}, headers=of("anna")).status_code == 200
    assert service.client.post(f"{path}/cancel", headers=of("op")).json()["message"] == "by op"


def test_a_token_that_is_taken_out_of_the_file_is_refused_at_once(tmp_path: Path) -> None:
    token, line = new_token("anna", Role.SUBMIT)
    file = tmp_path / "tokens"
    file.write_text(line)
    tokens = Tokens(file)
    assert tokens.caller(token) is not None
    file.write_text("# nobody\n")
    assert tokens.caller(token) is None
    assert tokens.required


def test_a_slip_in_the_file_of_tokens_shuts_out_nobody_else_while_the_farm_runs(tmp_path: Path) -> None:
    (anna, anna_line), (ben, ben_line), (eve, eve_line) = (new_token(n, Role.SUBMIT) for n in ("anna", "ben", "eve"))
    file = tmp_path / "tokens"
    file.write_text(f"{anna_line}\n{ben_line}\n{eve_line}\n")
    tokens = Tokens(file)
    file.write_bytes(f"{anna_line}\n{ben_line[:-7]}\n".encode() + b"\xff\n")
    assert [tokens.caller(token) is not None for token in (anna, ben, eve)] == [True, False, False]
    file.write_text(f"{anna_line}\n{ben_line}\n")
    assert [tokens.caller(token) is not None for token in (anna, ben, eve)] == [True, True, False]
    with pytest.raises(InputError, match="line 1"):
        Tokens(text=ben_line[:-7])


def test_a_line_that_is_no_token_is_refused_without_being_repeated() -> None:
    with pytest.raises(InputError, match="line 2") as caught:
        Tokens(text="\nanna submit gf_secret")
    assert "gf_secret" not in str(caught.value)


@pytest.mark.parametrize(
    "headers", [{"host": "evil.example"}, {"host": "evil.example:80"}, {"origin": "https://evil.example"}]
)
def test_without_tokens_web_pages_are_refused(service: Service, headers: dict[str, str]) -> None:
    problem(service.client.get("/v1/jobs", headers=headers), 403, "forbidden")
    assert service.client.post("/v1/jobs", json=rollout(), headers=headers).status_code == 403


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost", "[::1]:8765", "[::1]"])
def test_without_tokens_this_machine_is_served(service: Service, host: str) -> None:
    assert service.client.get("/v1/jobs", headers={"host": host}).status_code == 200


# --- streams ---------------------------------------------------------------------------------------------------------


def test_events_of_a_job_are_streamed_up_to_the_final_one(service: Service) -> None:
    service.work_beside()
    job = service.submit(trials=360)["job"]["id"]
    with service.client.stream("GET", f"/v1/jobs/{job}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        text = "".join(stream.iter_text())
    events = events_of(text)
    assert [e["number"] for e in events] == list(range(1, len(events) + 1))
    assert (events[0]["kind"], events[-1]["kind"]) == ("queued", "done")
    assert [e["job"] for e in events] == [job] * len(events)


def test_a_stream_goes_on_after_the_last_event_that_was_seen(service: Service) -> None:
    job = service.submit()["job"]["id"]
    service.work()
    path = f"/v1/jobs/{job}/events"
    everything = events_of(service.client.get(path).text)
    assert events_of(service.client.get(path, headers={"Last-Event-ID": "1"}).text) == everything[1:]
    assert events_of(service.client.get(path, params={"after": 2}).text) == everything[2:]
    assert events_of(service.client.get(path, headers={"Last-Event-ID": str(len(everything))}).text) == []


def test_a_command_that_works_for_itself_has_no_events_to_wait_for(service: Service) -> None:
    record = JobRecord("0123456789abcdef", JobKind.ROLLOUT, JobState.RUNNING, "{}", 1.0, 1.0, owner="host/1")
    service.ledger.put_job(record)
    problem(service.client.get(f"/v1/jobs/{record.id}/events"), 409, "not-ready")


def test_a_stream_hears_of_what_the_feed_did_not_tell(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cluster.service.streams._HEARTBEAT", 0.05)
    monkeypatch.setattr(service.app.state.shared.hub._ledger, "feed", lambda mark, wait=0.0: ([], "0"))
    job = service.submit()["job"]["id"]
    service.work_beside()
    kinds = [e["kind"] for e in events_of(service.client.get(f"/v1/jobs/{job}/events").text)]
    assert kinds[-1] == "done"


def test_a_stream_whose_reader_has_seen_more_than_there_is_goes_on_and_ends_with_the_job(service: Service) -> None:
    """As after Redis lost its last second."""
    job = service.submit(trials=3600)["job"]["id"]
    threading.Timer(0.3, service.work_beside).start()
    found = events_of(service.client.get(f"/v1/jobs/{job}/events", params={"after": 1000}).text)
    assert [event["kind"] for event in found][-1] == "done"
    assert events_of(service.client.get(f"/v1/jobs/{job}/events", params={"after": 1000}).text) == []


def test_every_stream_of_a_job_hears_all_of_its_events_in_order() -> None:
    ledger = MemoryLedger()
    submission = Submission(JobKind.ROLLOUT, "k", "{}", "anna", Priority.NORMAL)
    (job,) = (submitted.job for submitted in ledger.submit([submission], 1.0))

    async def listen() -> list[list[int]]:
        hub = Hub(ledger, 100)
        hub.start()

        async def follow() -> list[int]:
            return [event.number async for some in job_events(hub, job, 0) for event in some]

        streams = [asyncio.create_task(follow()) for _ in range(50)]
        while hub.open < 50:
            await asyncio.sleep(0)
        ledger.start(job, 9, 2.0)
        for done in range(1, 10):
            ledger.note(job, done, 9, {}, 3.0)
        ledger.finish(job, JobState.DONE, 4.0)
        found = await asyncio.gather(*streams)
        hub.close()
        assert hub.open == 0
        return list(found)

    assert asyncio.run(listen()) == [list(range(1, 13))] * 50


class UnreadableLedger(MemoryLedger):
    """Has an event in its feed that this version does not know."""

    def __init__(self) -> None:
        super().__init__()
        self.failed = 0

    def feed(self, after: str | None, wait: float = 0.0, limit: int = 1000) -> tuple[list[Event], str]:
        events, mark = super().feed(after, wait, limit)
        if any(event.job == "bad" for event in events):
            self.failed += 1
            raise ValueError("'paused' is not a valid EventKind")
        return events, mark


def test_streams_outlive_an_event_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cluster.service.streams._WAIT", 0.01)
    ledger = UnreadableLedger()

    def submit(key: str) -> str:
        return ledger.submit([Submission(JobKind.ROLLOUT, key, "{}", "anna", Priority.NORMAL)], 1.0)[0].job

    async def listen() -> list[EventKind]:
        hub, job, kinds = Hub(ledger, 100), submit("good"), []
        hub.start()
        async for some in job_events(hub, job, 0):
            kinds += [event.kind for event in some]
            if kinds == [EventKind.QUEUED]:
                submit("bad")
                while not ledger.failed:
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.1)  # it reads on
                ledger.start(job, 1, 2.0)
                ledger.finish(job, JobState.DONE, 3.0)
        hub.close()
        return kinds

    heard = asyncio.run(asyncio.wait_for(listen(), 10))
    assert heard == [EventKind.QUEUED, EventKind.STARTED, EventKind.DONE]


class SlowLedger(MemoryLedger):
    """Whose answers about events stay under way until it is told to `go` on."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()
        self.looks = 0

    def events(self, job_id: str, after: int = 0, limit: int = 1000) -> list[Event]:
        found = super().events(job_id, after, limit)
        self.looks += 1
        self.go.wait()
        return found


def test_streams_that_want_to_know_the_same_share_one_look_that_is_not_older_than_they_are() -> None:
    ledger = SlowLedger()
    submission = Submission(JobKind.ROLLOUT, "k", "{}", "anna", Priority.NORMAL)
    (job,) = (submitted.job for submitted in ledger.submit([submission], 1.0))

    async def ask() -> list[list[Event] | None]:
        hub = Hub(ledger, 100)
        early = [asyncio.create_task(hub.history(job, 0)) for _ in range(50)]
        while not ledger.looks:
            await asyncio.sleep(0.001)
        ledger.start(job, 9, 2.0)  # the look under way has not seen this
        late = [asyncio.create_task(hub.history(job, 0)) for _ in range(50)]
        ledger.go.set()
        return list(await asyncio.gather(*early, *late))

    found = [len(events or ()) for events in asyncio.run(ask())]
    assert found == [1] * 50 + [2] * 50
    assert ledger.looks == 2


def test_streams_that_hear_nothing_look_together_for_what_they_missed() -> None:
    ledger = SlowLedger()
    ledger.go.set()
    submission = Submission(JobKind.ROLLOUT, "k", "{}", "anna", Priority.NORMAL)
    (job,) = (submitted.job for submitted in ledger.submit([submission], 1.0))

    async def ask() -> list[list[Event] | None]:
        hub = Hub(ledger, 100)
        with hub.watch((job,)):
            return [await hub.missed(job, 1) for _ in range(50)] + [await hub.missed(job, 0)]

    found = [len(events or ()) for events in asyncio.run(ask())]
    assert found == [0] * 50 + [1]
    assert ledger.looks == 2


def test_streams_are_limited() -> None:
    service = Service(streams=1)
    with service.client:
        job = service.submit()["job"]["id"]
        service.app.state.shared.hub.open = 1
        problem(service.client.get(f"/v1/jobs/{job}/events"), 503, "too-many")


# --- batches ---------------------------------------------------------------------------------------------------------


def test_one_bad_submission_does_not_stop_a_batch(service: Service) -> None:
    jobs = [rollout(seed=1), rollout(position="nonsense"), rollout(seed=2), {"kind": "none"}, rollout(seed=1)]
    answer = service.client.post("/v1/batches", json={"jobs": jobs})
    assert answer.status_code == 201
    items = answer.json()["items"]
    assert [item["index"] for item in items] == [0, 1, 2, 3, 4]
    assert [item["created"] for item in items] == [True, False, True, False, False]
    assert items[0]["job"] == items[4]["job"]
    assert [item["problem"]["code"] if item["problem"] else None for item in items] == [
        None,
        "input",
        None,
        "input",
        None,
    ]
    progress = service.client.get(f"/v1/batches/{answer.json()['batch']}").json()
    assert (progress["jobs"], progress["states"]) == (2, {"queued": 2})


def test_a_batch_moves_its_jobs_up_in_one_trip(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    trips: list[int] = []
    take = service.ledger.take
    asked = [rollout(seed=seed) for seed in range(5)]
    first = service.client.post("/v1/batches", json={"jobs": asked}).json()["items"]

    def counted(steps: Any) -> Any:
        trips.append(len(steps))
        return take(steps)

    monkeypatch.setattr(service.ledger, "take", counted)
    urgent = [one | {"priority": "interactive"} for one in asked]
    again = service.client.post("/v1/batches", json={"jobs": urgent}).json()["items"]
    assert [item["job"] for item in again] == [item["job"] for item in first]
    assert {service.ledger._jobs[item["job"]].priority for item in again} == {Priority.INTERACTIVE}
    assert trips == [5]


def test_the_answers_of_a_batch_are_streamed_as_they_come(service: Service) -> None:
    jobs = [rollout(seed=seed) for seed in range(4)]
    batch = service.client.post("/v1/batches", json={"jobs": jobs}).json()
    cancelled = batch["items"][3]["job"]
    service.ledger.finish(cancelled, JobState.CANCELLED, 1.0)
    service.work_beside()
    with service.client.stream("GET", f"/v1/batches/{batch['batch']}/results") as stream:
        assert stream.headers["content-type"].startswith("application/x-ndjson")
        lines = [json.loads(line) for line in stream.iter_lines() if line]
    assert lines[0]["job"] == cancelled
    assert lines[0]["problem"]["code"] == "cancelled"
    done = {line["job"]: line["answer"] for line in lines[1:]}
    assert set(done) == {item["job"] for item in batch["items"][:3]}
    for answer in done.values():
        RolloutResult.model_validate(answer["result"])


def test_the_jobs_of_a_batch_that_wait_are_not_read_again_and_again(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cluster.service.batches._LOOK_AGAIN", 0.01)
    asked = {"jobs": [rollout(seed=seed) for seed in range(30)]}
    batch = service.client.post("/v1/batches", json=asked).json()["batch"]
    looks, read = 0, []
    get_states, answers = service.ledger.get_states, batches._answers

    def counted(jobs: Any) -> Any:
        nonlocal looks
        looks += 1
        if looks == 5:
            service.work_beside()
        return get_states(jobs)

    def noted(shared: Any, jobs: list[str]) -> Any:
        read.append(jobs)
        return answers(shared, jobs)

    monkeypatch.setattr(service.ledger, "get_states", counted)
    monkeypatch.setattr(batches, "_answers", noted)
    assert service.client.get(f"/v1/batches/{batch}").json()["states"] == {"queued": 30}
    lines = [line for line in service.client.get(f"/v1/batches/{batch}/results").text.splitlines() if line]
    assert len(lines) == 30
    assert looks > 5
    assert sum(map(len, read)) == 30  # each once
    assert max(map(len, read)) <= 20


def test_an_unknown_batch_is_not_found(service: Service) -> None:
    problem(service.client.get(f"/v1/batches/{'0' * 32}/results"), 404, "not-found")


# --- operations ------------------------------------------------------------------------------------------------------


def test_the_health_is_told_while_all_threads_are_busy(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    busy, go_on = threading.Semaphore(0), threading.Event()

    def slow(job: str) -> Any:
        busy.release()
        go_on.wait(20)

    monkeypatch.setattr(service.ledger, "get_job", slow)
    asking = [threading.Thread(target=service.client.get, args=(f"/v1/jobs/{n:08x}",)) for n in range(60)]
    for thread in asking:
        thread.start()
    for _ in range(40):
        assert busy.acquire(timeout=20)
    said: list[int] = []
    health = threading.Thread(target=lambda: said.append(service.client.get("/health").status_code))
    health.start()
    health.join(5)
    told = list(said)
    go_on.set()
    for thread in [*asking, health]:
        thread.join()
    assert told == [200]


def test_readiness_needs_a_coordinator_that_speaks(service: Service) -> None:
    assert service.client.get("/ready").status_code == 503
    problem(service.client.get("/v1/status"), 503, "unavailable")
    service.farm.step()
    assert service.client.get("/ready").json()["status"] == "ok"
    assert service.client.get("/v1/status").json()["idle"] == "no jobs"


def test_metrics_count_requests_by_route_and_describe_the_farm(service: Service) -> None:
    service.submit()
    service.client.get(f"/v1/jobs/{'0' * 32}")
    before = service.client.get("/metrics").text
    assert "gammonfarm_coordinator_up 0.0" in before
    assert 'gammonfarm_answers_total{method="POST",route="/v1/jobs",status="201"} 1.0' in before
    assert 'route="/v1/jobs/{job_id}",status="404"} 1.0' in before
    assert "0" * 32 not in before
    service.work()
    service.farm._said = -1e9
    service.farm.step()
    after = service.client.get("/metrics").text
    assert "gammonfarm_coordinator_up 1.0" in after
    assert "gammonfarm_jobs_done 1.0" in after


def test_examples_in_the_document_fit_their_models(service: Service) -> None:
    schemas = service.client.get("/openapi.json").json()["components"]["schemas"]
    models = {"Problem": Problem, "JobView": JobView, "Extension": Extension, "PriorityChange": PriorityChange}
    for name, model in models.items():
        (example,) = schemas[name]["examples"]
        model.model_validate(example)
    (batch,) = schemas["BatchSubmission"]["examples"]
    items = service.client.post("/v1/batches", json=batch).json()["items"]
    assert [item["created"] for item in items] == [True, True]


def test_the_document_describes_every_kind_with_an_example(service: Service) -> None:
    document = service.client.get("/openapi.json").json()
    body = document["paths"]["/v1/jobs"]["post"]["requestBody"]["content"]["application/json"]
    kinds = {kind["name"]: kind for kind in service.client.get("/v1/kinds").json()}
    assert set(body["examples"]) == set(kinds) == {"rollout", "deep", "evaluate", "analyse", "book", "train"}
    for example in body["examples"].values():
        answer = service.client.post("/v1/jobs", json=example["value"] | {"priority": Priority.BULK.value})
        assert answer.status_code == 201, answer.text
    assert {event.kind for event in service.ledger._feed} == {EventKind.QUEUED}
