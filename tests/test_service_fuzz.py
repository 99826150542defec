"""The API under attack: whatever comes in, no request may end in a failure of ours."""

from __future__ import annotations

import os
from typing import Any

import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_service import DESK, rollout

from cluster.book.recipe import BookRecipe
from cluster.farm.registry import Kinds, read
from cluster.ledger import JobQuery, Submission
from cluster.memory_ledger import MemoryLedger
from cluster.scheduling import Priority
from cluster.service.app import create_app
from cluster.service.auth import Tokens
from cluster.service.limits import Limits
from cluster.service.streams import after_of
from cluster.service_models import job_view
from cluster.store import JobKind
from engine.errors import InputError

EXAMPLES = int(os.environ.get("GAMMONFARM_FUZZ", "15"))
"""For every endpoint; raise it for a longer attack."""

app = create_app(MemoryLedger(), DESK, Tokens(), Limits(rate=1e9, burst=1e9))
schema = schemathesis.openapi.from_asgi("/openapi.json", app, headers={"Host": "127.0.0.1"})


@schema.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_request_of_the_document_ends_in_a_failure_of_ours(case: Any) -> None:
    case.headers["Host"] = "127.0.0.1"
    response = case.call(timeout=120)  # the first question of a kind may compile kernels
    assert response.status_code != 403, "the attack does not get in"
    assert response.status_code < 500 or response.status_code == 503, response.text
    if response.status_code >= 400 and "/ready" not in case.path:
        assert response.headers["content-type"] == ["application/problem+json"]


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=10 * EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(field=st.sampled_from(["position", "plays", "trials", "seed", "rules", "truncate", "level"]), value=JSON)
def test_no_value_of_a_field_ends_in_a_failure_of_ours(client: TestClient, field: str, value: Any) -> None:
    body = rollout()
    body["request"][field] = value
    try:
        answer = client.post("/v1/jobs", json=body)
    except ValueError:
        return  # a value that JSON can't hold
    assert answer.status_code in (200, 201, 413, 422), answer.text


BOOK = {
    "name": "tiny",
    "rules": "hypergammon",
    "search": {"level": 1},
    "budget": {"trials": 100},
    "depth": [{"margin": 0.02, "most": 2, "trials": 36}],
}
NEAR = st.sampled_from(
    [
        "",
        "money",
        "3-away/5-away",
        "1-away/2-away post-crawford",
        "999-away/999-away",
        "tavla",
        "fitted",
        "kazaross-xg2",
    ]
)


@settings(max_examples=20 * EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    changes=st.dictionaries(
        st.sampled_from([*BookRecipe.model_fields]), JSON | NEAR | st.just(BOOK["depth"]), min_size=1, max_size=3
    )
)
def test_no_recipe_of_a_book_ends_in_a_failure_of_ours(client: TestClient, changes: dict[str, Any]) -> None:
    try:
        answer = client.post("/v1/jobs", json={"kind": "book", "request": BOOK | changes})
    except ValueError:
        return  # a value that JSON can't hold
    assert answer.status_code in (200, 201, 413, 422), answer.text
    if answer.status_code < 300:
        file = client.get(f"/v1/jobs/{answer.json()['job']['id']}/book")
        assert (file.status_code, file.content[:15]) == (200, b"SQLite format 3")


@settings(max_examples=10 * EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.text(max_size=80), path=st.sampled_from(["", "/result", "/events", "/book", "/cancel"]))
def test_no_name_of_a_job_ends_in_a_failure_of_ours(client: TestClient, text: str, path: str) -> None:
    from urllib.parse import quote

    answer = client.get(f"/v1/jobs/{quote(text, safe='')}{path}")
    assert answer.status_code in (200, 404, 405, 422), answer.text


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_no_bytes_as_a_body_end_in_a_failure_of_ours(client: TestClient, body: bytes) -> None:
    for path in ("/v1/jobs", "/v1/batches"):
        answer = client.post(path, content=body, headers={"content-type": "application/json"})
        assert answer.status_code in (400, 422), answer.text


@given(st.text(max_size=60))
def test_a_last_event_id_is_a_number_or_ignored(text: str) -> None:
    stripped = text.strip()
    is_number = stripped.isascii() and stripped.isdigit() and len(stripped) < 16
    assert after_of(text, 7) == (int(stripped) if is_number else 7)


@given(st.text(max_size=60))
def test_a_record_of_another_version_is_still_listed_and_its_job_refused(text: str) -> None:
    ledger = MemoryLedger()
    ledger.submit([Submission(JobKind.ROLLOUT, "k", text, "anna", Priority.NORMAL)], 1.0)
    (record,) = ledger.find_jobs(JobQuery()).jobs
    assert job_view(record).id == "k"
    with pytest.raises(InputError, match="request"):
        read(Kinds().of(JobKind.ROLLOUT), text)
