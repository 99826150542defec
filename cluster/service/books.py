"""The endpoint that hands out the files of opening books."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from cluster.book.recipe import BookRecipe
from cluster.farm.book_job import file_of
from cluster.farm.registry import read
from cluster.service.app import CallerDependency, SharedDependency
from cluster.service.jobs import PROBLEMS, JobId, job_of
from cluster.service.problems import ProblemError
from cluster.store import JobKind, JobState

router = APIRouter(prefix="/v1", tags=["jobs"])

MEDIA_TYPE = "application/vnd.sqlite3"
_REQUESTS = 20.0
"""What a file counts in the rates of a client: putting one together takes a while."""
_NAMED = 'attachment; filename="{}.book"'
_FILE: dict[str, Any] = {
    "description": "An SQLite file; docs/books.md says what is in it",
    "content": {
        MEDIA_TYPE: {
            "schema": {"type": "string", "format": "binary"},
            "example": "SQLite format 3\u0000...",
        }
    },
    "headers": {
        "Content-Disposition": {"schema": {"type": "string"}, "example": 'attachment; filename="openings.book"'}
    },
}


@router.get(
    "/jobs/{job_id}/book",
    summary="The file of an opening book",
    responses={**PROBLEMS, 200: _FILE},
    response_class=Response,
)
def book(job_id: JobId, shared: SharedDependency, caller: CallerDependency) -> Response:
    """The whole book of a job that is done. Of one that isn't, or has ended before, the entries up to the first that is
    missing: a book of its own, which `gammonfarm book merge` and `book build` take over.
    """
    record = job_of(shared, job_id)
    if record.kind is not JobKind.BOOK or not record.client:
        raise ProblemError(409, "a job that builds no book")
    shared.rates.take(caller.name, _REQUESTS)
    net, request = read(shared.kinds.of(JobKind.BOOK), record.request)
    assert isinstance(request, BookRecipe)
    content, whole = file_of(request, net, shared.desk, shared.ledger)
    if record.state is JobState.DONE and not whole:
        raise ProblemError(410, "some entries have been forgotten: submit the book under another name")
    headers = {"Content-Disposition": _NAMED.format(request.name), "Cache-Control": "no-store"}
    return Response(content, media_type=MEDIA_TYPE, headers=headers)
