"""The client against the API, in this process: blocking, asynchronous, and through breaks of the connection."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from test_service import NETS, Service, rollout

from cluster.cli.main import main
from cluster.client import AsyncClient, Client, FarmError, submission
from cluster.client_calls import check_url, priority_of_environment, token_of_environment
from cluster.ledger import EventKind
from cluster.scheduling import Priority
from cluster.schemas import RolloutRequest
from cluster.service.auth import Role, Tokens, new_token, parse_tokens, token_hash
from cluster.service_models import Accepted, EventView, JobView, Problem
from cluster.store import JobKind, JobRecord, JobState
from engine.errors import InfrastructureError, InputError

URL = "http://127.0.0.1"
REQUEST = rollout()["request"]


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    made = Service()
    with made.client:
        yield made
    made.close()


class Through(httpx.BaseTransport):
    """Hands requests to the application; the first `broken` of them fail on the way."""

    def __init__(self, service: Service, broken: int = 0) -> None:
        self.service, self.broken = service, broken
        self.requests: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if self.broken > 0:
            self.broken -= 1
            raise httpx.ConnectError("refused")
        return self.service.client._transport.handle_request(request)


@pytest.fixture
def client(service: Service) -> Iterator[Client]:
    with Client(URL, transport=Through(service)) as made:
        yield made


def test_the_client_submits_watches_and_reads(service: Service, client: Client) -> None:
    service.work_beside()
    accepted = client.submit("rollout", RolloutRequest(**REQUEST), priority=Priority.INTERACTIVE)
    assert accepted.created
    assert accepted.job.priority is Priority.INTERACTIVE
    kinds = [event.kind for event in client.events(accepted.job.id)]
    assert (kinds[0], kinds[-1]) == (EventKind.QUEUED, EventKind.DONE)
    answer = client.wait(accepted.job.id)
    assert answer.result["net"] == NETS.digest
    assert client.job(accepted.job.id).state is JobState.DONE
    assert [job.id for job in client.jobs(JobState.DONE).jobs] == [accepted.job.id]
    longer = client.extend(accepted.job.id, trials=72)
    assert client.wait(longer.job.id).result["candidates"][0]["trials"] == 72
    assert {kind.name.value for kind in client.kinds()} == {kind.value for kind in JobKind}
    assert client.status().coordinator == "test"


def test_the_client_cancels_and_moves(service: Service, client: Client) -> None:
    job = client.submit("rollout", REQUEST).job.id
    assert client.prioritise(job, Priority.BULK).priority is Priority.BULK
    assert client.cancel(job).state is JobState.CANCELLED
    with pytest.raises(FarmError, match="cancelled") as refused:
        client.wait(job)
    assert refused.value.problem.status == 409


def test_answers_of_a_batch_come_as_models(service: Service, client: Client) -> None:
    batch = client.submit_batch([submission("rollout", REQUEST | {"seed": seed}) for seed in range(3)])
    service.work()
    lines = list(client.batch_results(batch.batch))
    assert {line.job for line in lines} == {item.job for item in batch.items}
    assert all(line.answer is not None for line in lines)
    assert client.batch(batch.batch).states == {JobState.DONE: 3}


def test_answers_of_a_batch_go_on_when_the_connection_breaks(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cluster.client_calls.pause_of", lambda number: 0.0)
    batch = service.client.post("/v1/batches", json={"jobs": [rollout(seed=seed) for seed in range(3)]}).json()
    service.work()
    whole = service.client.get(f"/v1/batches/{batch['batch']}/results").text
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        if len(asked) == 1:
            return httpx.Response(200, stream=Broken(whole.splitlines()[0] + "\n\n"))
        return httpx.Response(200, text=whole)

    with Client(URL, transport=httpx.MockTransport(answer)) as client:
        lines = list(client.batch_results(batch["batch"]))
    assert [line.job for line in lines] == [json.loads(line)["job"] for line in whole.splitlines()]
    assert len(asked) == 2


class Broken(httpx.SyncByteStream):
    """Breaks after some text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __iter__(self) -> Iterator[bytes]:
        yield self._text.encode()
        raise httpx.ReadError("broken")


def test_a_refusal_names_the_field(client: Client) -> None:
    # The field stands there once: the farm has named it.
    with pytest.raises(
        FarmError, match=r"^request.trials: '0': expected a number greater than or equal to 1$"
    ) as refused:
        client.submit("rollout", REQUEST | {"trials": 0})
    assert refused.value.problem.field == "request.trials"
    with pytest.raises(FarmError, match="no job"):
        client.job("0" * 32)
    with pytest.raises(InputError, match="id"):
        client.job("../../etc")


def test_a_call_is_tried_again_while_the_farm_is_away(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    service.farm.step()
    monkeypatch.setattr("cluster.client_calls.pause_of", lambda number: 0.0)
    transport = Through(service, broken=3)
    with Client(URL, transport=transport) as client:
        assert client.submit("rollout", REQUEST).created
        assert len(transport.requests) == 4
        assert "trying again" not in caplog.text
        transport.broken = 5
        client.status()
        assert caplog.text.count("trying again") == 1
        transport.broken = 100
        with pytest.raises(InfrastructureError, match=r"127\.0\.0\.1.*refused.*gammonfarm serve"):
            client.status()


@pytest.mark.parametrize(
    ("code", "exit_code"), [("quarantined", 3), ("internal", 3), ("infrastructure", 4), ("input", 2)]
)
def test_what_is_not_the_clients_mistake_ends_commands_as_without_a_farm(code: str, exit_code: int) -> None:
    error = FarmError(Problem(title="Not ready", status=409, detail="it failed", code=code))
    assert error.exit_code == exit_code
    assert pickle.loads(pickle.dumps(error)).exit_code == exit_code


def test_the_client_comes_back_when_the_farm_says(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("cluster.client_calls.pause_of", lambda number: 0.0)
    monkeypatch.setattr("cluster.client.time", SimpleNamespace(sleep=slept.append))
    service.farm.step()
    refusals = [("429", "7"), ("503", "900"), ("503", "soon")]

    def answer(request: httpx.Request) -> httpx.Response:
        if not refusals:
            return service.client._transport.handle_request(request)
        status, after = refusals.pop(0)
        return httpx.Response(int(status), headers={"Retry-After": after}, json={"detail": "not now"})

    with Client(URL, transport=httpx.MockTransport(answer)) as client:
        client.status()
    assert slept == [7.0, 30.0, 0.0]


def test_a_broken_stream_goes_on_after_the_last_event(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cluster.client_calls.pause_of", lambda number: 0.0)
    job = service.submit()["job"]["id"]
    service.work()
    everything = service.client.get(f"/v1/jobs/{job}/events").text
    first, second, *rest = [part for part in everything.split("\n\n") if part.startswith("id:")]
    asked: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if not request.url.path.endswith("/events"):  # a stream that closes has the client look at the job
            return service.client._transport.handle_request(request)
        asked.append(request.headers.get("last-event-id"))
        if len(asked) == 2:
            raise httpx.ReadError("broken")
        parts = [first, second] if len(asked) == 1 else rest
        return httpx.Response(200, text="".join(f"{part}\n\n" for part in parts))

    with Client(URL, transport=httpx.MockTransport(answer)) as client:
        numbers = [event.number for event in client.events(job)]
    assert numbers == list(range(1, len(rest) + 3))
    assert asked == [None, "2", "2"]


def test_a_stream_that_a_stopping_farm_closes_goes_on_however_often(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cluster.client_calls.pause_of", lambda number: 0.0)
    job = service.submit()["job"]["id"]
    service.work()
    parts = [f"{part}\n\n" for part in service.client.get(f"/v1/jobs/{job}/events").text.split("\n\n")]
    events = [part for part in parts if part.startswith("id:")]
    answers = [events[0], "", "", "", "", events[1], ": still here\n\n", "".join(events[2:])]

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/events"):
            return httpx.Response(200, text=answers.pop(0))
        return service.client._transport.handle_request(request)

    with Client(URL, transport=httpx.MockTransport(answer)) as client:
        assert [event.number for event in client.events(job)] == list(range(1, len(events) + 1))
        # One that has nothing more to say is asked once.
        answers += [""]
        assert list(client.events(job, 99)) == []


def test_a_farm_that_is_being_stopped_opens_no_streams(service: Service) -> None:
    job = service.submit()["job"]["id"]
    service.app.state.shared.hub.ending = True
    refused = service.client.get(f"/v1/jobs/{job}/events")
    assert (refused.status_code, refused.json()["detail"]) == (503, "the farm is being stopped")
    assert refused.headers["retry-after"] == "2"


def test_a_client_without_a_token_is_told_where_it_belongs() -> None:
    token, line = new_token("anna", Role.SUBMIT)
    guarded = Service(Tokens(text=line))
    with Client(URL, "wrong", transport=Through(guarded)) as client, pytest.raises(FarmError, match="TOKEN_FILE"):
        client.jobs()
    with Client(URL, token, transport=Through(guarded)) as client:
        assert client.jobs().jobs == ()
    with pytest.raises(InputError, match=r"'\.\.\.': expected a token"):
        Client(URL, "gf_\u00fc")


def test_the_asynchronous_client_does_the_same(service: Service) -> None:
    job = service.submit()["job"]
    service.work()

    async def ask() -> tuple[JobView, list[EventKind], Any]:
        transport = httpx.ASGITransport(app=service.app)
        async with AsyncClient(URL, transport=transport) as client:
            accepted = await client.submit("rollout", REQUEST)
            kinds = [event.kind async for event in client.events(accepted.job.id)]
            assert {kind.name.value for kind in await client.kinds()} == {kind.value for kind in JobKind}
            batch = await client.submit_batch([submission("rollout", REQUEST)])
            lines = [line async for line in client.batch_results(batch.batch)]
            assert [line.job for line in lines] == [accepted.job.id]
            assert (await client.batch(batch.batch)).states == {JobState.DONE: 1}
            return await client.job(accepted.job.id), kinds, await client.wait(accepted.job.id)

    view, kinds, answer = asyncio.run(ask())
    assert view.id == job["id"]
    assert kinds[-1] is EventKind.DONE
    assert answer.job == job["id"]


def test_the_token_comes_from_a_file_or_the_environment(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert token_of_environment() is None
    monkeypatch.setenv("GAMMONFARM_TOKEN", "gf_one")
    assert token_of_environment() == "gf_one"
    file = tmp_path / "token"
    file.write_text("gf_two\n")
    monkeypatch.setenv("GAMMONFARM_TOKEN_FILE", str(file))
    assert token_of_environment() == "gf_two"


def test_the_class_of_all_that_a_shell_asks_comes_from_the_environment(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAMMONFARM_PRIORITY", "soon")
    with pytest.raises(InputError, match="one of interactive, normal, bulk"):
        priority_of_environment()
    monkeypatch.setenv("GAMMONFARM_PRIORITY", "interactive")
    with Client(URL, transport=Through(service), priority=priority_of_environment()) as client:
        one = client.submit("rollout", REQUEST).job
        other = client.submit("rollout", {**REQUEST, "seed": 2}, priority=Priority.BULK).job
        batch = client.submit_batch(
            [
                submission("rollout", {**REQUEST, "seed": 3}),
                submission("rollout", {**REQUEST, "seed": 4}, priority=Priority.BULK),
            ]
        )
        found = [
            client.job(job or "").priority.value for job in (one.id, other.id, *(item.job for item in batch.items))
        ]
    assert found == ["interactive", "bulk", "interactive", "bulk"]
    monkeypatch.delenv("GAMMONFARM_PRIORITY")
    assert priority_of_environment() is None


@pytest.mark.parametrize("url", ["farm:8765", "ftp://farm", "http://", "nonsense", "http://user:secret@"])
def test_a_url_that_is_none_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(InputError) as caught:
        check_url(url)
    assert "secret" not in str(caught.value)


# --- the commands ----------------------------------------------------------------------------------------------------


@pytest.fixture
def named(service: Service, monkeypatch: pytest.MonkeyPatch) -> Service:
    """Commands find the farm by its URL."""
    monkeypatch.setenv("GAMMONFARM_URL", URL)
    monkeypatch.setattr(
        "cluster.client.Client.from_environment", staticmethod(lambda: Client(URL, transport=Through(service)))
    )
    return service


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    capsys.readouterr()
    assert main(arguments) == code
    captured = capsys.readouterr()
    return captured.out if code == 0 else captured.err


def test_a_rollout_runs_on_the_farm_that_is_named(named: Service, capsys: pytest.CaptureFixture[str]) -> None:
    named.work_beside()
    plays = [word for play in REQUEST["plays"] for word in ("--play", play)]
    command = ("rollout", REQUEST["position"], *plays, "--trials", "36", "--no-bearoff")
    document = json.loads(run(capsys, *command, "--json"))
    assert document["provenance"]["executor"] == "farm"
    assert document["result"]["net"] == NETS.digest
    assert "2/off 1/off" in run(capsys, *command)
    job = document["provenance"]["job"]
    assert job in run(capsys, "jobs", "list", "--state", "done")
    assert "3/off" in run(capsys, "jobs", "show", job)
    events = [json.loads(line) for line in run(capsys, "jobs", "watch", job, "--json").splitlines()]
    assert events[-1]["kind"] == "done"
    assert "done" in run(capsys, "jobs", "watch", job).splitlines()[-1]
    longer = json.loads(run(capsys, "jobs", "extend", job, "--trials", "72", "--json"))
    assert longer["request"]["trials"] == 72
    assert "coordinator test" in run(capsys, "status")


def test_an_evaluation_runs_on_the_farm_that_is_named(named: Service, capsys: pytest.CaptureFixture[str]) -> None:
    named.work_beside()
    position = "XGID=-b----E-C---eE---c-e----B-:0:0:1:31:0:0:0:0:10"
    document = json.loads(run(capsys, "evaluate", position, "--json"))
    assert document["net"] == NETS.digest
    (job,) = named.ledger._jobs.values()
    assert job.kind.value == "evaluate"


def test_a_job_can_be_cancelled_by_command(named: Service, capsys: pytest.CaptureFixture[str]) -> None:
    job = named.submit()["job"]["id"]
    assert json.loads(run(capsys, "jobs", "cancel", job, "--json"))["state"] == "cancelled"


def test_a_job_of_a_command_is_shown_with_the_reason_why_its_answer_is_not_here(
    named: Service, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    job = "ab" * 6
    named.ledger._jobs[job] = JobRecord(job, JobKind.ROLLOUT, JobState.DONE, "{}", 1.0, 1.0)
    assert job in run(capsys, "jobs", "show", job)
    assert "command that works for itself" in caplog.text
    assert "command that works for itself" in run(capsys, "jobs", "watch", job, code=2)


def test_a_job_is_moved_to_another_class_and_found_by_kind(named: Service, capsys: pytest.CaptureFixture[str]) -> None:
    job = named.submit()["job"]["id"]
    assert json.loads(run(capsys, "jobs", "priority", job, "bulk", "--json"))["priority"] == "bulk"
    assert job in run(capsys, "jobs", "list", "--kind", "rollout")
    assert job not in run(capsys, "jobs", "list", "--kind", "book")


@pytest.mark.parametrize("command", ["rollout", "jobs watch"])
def test_ctrl_c_leaves_the_job_running_and_says_how_to_go_on(
    named: Service, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = named.submit()["job"]["id"]

    def interrupted(*_: object) -> Iterator[EventView]:
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(Client, "events", interrupted)
    plays = [word for play in REQUEST["plays"] for word in ("--play", play)]
    words = {
        "rollout": ("rollout", REQUEST["position"], *plays, "--trials", "36", "--no-bearoff"),
        "jobs watch": ("jobs", "watch", job),
    }[command]
    assert f"`gammonfarm jobs cancel {job}` ends it" in run(capsys, *words, code=130)
    assert named.ledger._jobs[job].state is JobState.QUEUED


def test_the_board_is_shown_before_the_farm_has_answered(
    named: Service, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> Accepted:
        raise InfrastructureError("away")

    monkeypatch.setattr(Client, "submit", lambda *_, **__: refused())
    for command in ("rollout", "deep"):
        assert main((command, REQUEST["position"])) == 4
        assert "X to play 2-1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("code", "exit_code"), [("quarantined", 3), ("internal", 3), ("infrastructure", 4), ("gone", 2)]
)
def test_the_exit_code_says_whose_fault_a_failed_job_is(code: str, exit_code: int) -> None:
    assert FarmError(Problem(title="", status=409, detail="", code=code)).exit_code == exit_code


def test_an_evaluation_on_a_farm_has_the_usual_databases(named: Service, capsys: pytest.CaptureFixture[str]) -> None:
    command = ("evaluate", REQUEST["position"], "--bearoff-checkers", "5")
    assert "unset GAMMONFARM_URL" in run(capsys, *command, code=2)


def test_a_token_is_printed_as_a_document_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(run(capsys, "tokens", "new", "anna", "--role", "operate", "--json"))
    (caller,) = parse_tokens(found["line"]).values()
    assert (caller.name, caller.role.value) == ("anna", "operate")
    assert token_hash(found["token"]) in found["line"]
    assert (
        run(capsys, "tokens", "new", "a b", code=2)
        == "gammonfarm: name: 'a b': expected 1 to 40 letters, digits and - . _\n"
    )


def test_a_command_of_commands_shows_its_help_and_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "jobs", code=2) == ""


def test_a_farm_does_not_train_by_files_of_its_clients(
    named: Service, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = tmp_path / "quick.toml"
    recipe.write_text('name = "quick"\n')
    assert "recipe that comes with gammonfarm" in run(capsys, "train", str(recipe), code=2)


def test_doctor_looks_at_the_farm_and_its_tokens(
    named: Service, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cluster.doctor import _farm_services

    tokens = tmp_path / "tokens"
    tokens.write_text(new_token("anna", Role.SUBMIT)[1])
    tokens.chmod(0o600)
    monkeypatch.setenv("GAMMONFARM_TOKENS_FILE", str(tokens))
    named.farm.step()
    named.farm.step()
    ours, farm = _farm_services()
    assert (ours.ok, ours.detail) == (True, "1 tokens")
    assert (farm.ok, farm.detail) == (True, "1 workers, 0 jobs running, 0 queued")
    tokens.chmod(0o666)
    named.farm.crew.pool.describe = lambda: {"out": {"n1": "another gammonfarm"}}  # type: ignore[method-assign]
    named.farm._said = -1e9
    named.farm.step()
    ours, farm = _farm_services()
    assert not ours.ok
    assert (farm.ok, farm.detail) == (False, "node n1 is left alone: another gammonfarm")


def test_commands_about_jobs_need_a_farm(capsys: pytest.CaptureFixture[str]) -> None:
    assert "GAMMONFARM_URL" in run(capsys, "jobs", "list", code=2)
