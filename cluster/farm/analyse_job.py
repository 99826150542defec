"""Analysing a match as a job of the farm: one task. An archive is a batch of them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from cluster.archive.analysis import ArchiveAnalysis
from cluster.archive.books import NO_BOOKS, BookLookup, Books
from cluster.archive.files import FoundFile, Skipped, printable
from cluster.archive.matches import VALUES_VERSION, Conditions
from cluster.archive.policy import DEFAULT_POLICY, Policy, load_policy
from cluster.archive.results import MatchAnalysis
from cluster.book.library import shipped_files
from cluster.executor import InlineExecutor
from cluster.farm.desk import Desk, check_cube_names, shipped_name
from cluster.farm.kinds import Size, the_change
from cluster.farm.one_task import OneTaskJob, where_from
from cluster.planner import content_key
from cluster.scheduling import Priority
from cluster.schemas import Model
from cluster.store import JobKind, MemoryStore, Store
from engine.analysis.language import Language
from engine.analysis.rating import PlayerTally
from engine.bearoff import TWO_SIDED_CHECKERS
from engine.bearoff import VERSION as BEAROFF_VERSION
from engine.efficiency import DEFAULT_EFFICIENCY
from engine.errors import InputError
from engine.evaluator import Nets
from engine.records.formats import read_record
from engine.rollout import RESULT_VERSION
from workers.nets import nets_of, weights_of
from workers.spec import Weights, WorkerSpec

MOST_LETTERS = 1_000_000
"""Of a record in a request; the API bounds bodies too."""
_PATIENCE = 30.0
"""Seconds that a turn may take where everything is searched deeply and rolled out."""
_Name = Annotated[str, Field(min_length=1, max_length=40)]
_Content = Annotated[str, Field(min_length=1, max_length=MOST_LETTERS)]


class AnalyseRequest(Model):
    """A match to be analysed."""

    text: _Content | None = None
    """The record, of any format that is text (`.mat`, `.txt`, `.sgf`, lists of XGIDs)."""
    base64: _Content | None = None
    """Instead: the bytes of a file of any format (`.xg`, `.bgf`)."""
    name: Annotated[str, Field(min_length=1, max_length=200)] = "match"
    """What answers call it."""
    policy: _Name = DEFAULT_POLICY
    """How deep to look where: `quick`, `normal`, `deep`."""
    level: int | None = Field(default=None, ge=1, le=4)
    """Plies of the second look; null: the policy's."""
    rollout_close: float | None = Field(default=None, ge=0.0, le=1.0)
    """Roll out what differs by at most so much after that, 0: nothing; null: the policy's."""
    met: _Name | None = None
    efficiency: _Name = DEFAULT_EFFICIENCY
    language: Language = Language.ENGLISH
    """Of the sentences."""
    books: bool = False
    """Set first plays and replies beside the opening books that come with gammonfarm."""


class AnalyseResult(Model):
    """What an analysis of a match says."""

    analysis: MatchAnalysis
    tallies: tuple[PlayerTally, PlayerTally]
    """What the figures of both players are made of; those of many matches add up exactly."""


class AnalyseKind:
    """See `Kind`."""

    name = JobKind.ANALYSE
    request = AnalyseRequest
    result = AnalyseResult
    priority = Priority.BULK
    summary = "Find the errors of a match: losses, ratings, luck, and why the best play is better."
    example: ClassVar[Mapping[str, Any]] = {
        "text": "1 point match\n\n Game 1\n A : 0     B : 0\n  1) 31: 8/5 6/5    42: 8/4 6/4\n",
        "policy": "quick",
    }

    def key(self, request: AnalyseRequest, net: str, desk: Desk) -> str:
        """See `Kind`."""
        return self._read(request, net, desk)[0]

    def _read(self, request: AnalyseRequest, net: str, desk: Desk) -> tuple[str, bytes, int]:
        """Key, content and turns; the record is read once, which takes as long as a quick analysis of it."""
        content = _content(request)
        record = read_record(content)
        if not record.games:
            raise InputError("text" if request.base64 is None else "base64", request.name, "a record with games")
        _policy(request)
        check_cube_names(request.met, request.efficiency)
        key = content_key(
            {
                "kind": "analyse",
                "version": [RESULT_VERSION, VALUES_VERSION, BEAROFF_VERSION],
                "net": desk.nets(net).digest,
                "content": hashlib.blake2b(content, digest_size=16).hexdigest(),
                "book_files": _shipped_books() if request.books else [],
                **request.model_dump(mode="json", exclude={"text", "base64"}),
            }
        )
        return key, content, record.turns

    def begin(self, request: AnalyseRequest, net: str, desk: Desk, store: Store) -> OneTaskJob:
        """See `Kind`."""
        nets, (key, content, turns) = desk.nets(net), self._read(request, net, desk)
        return OneTaskJob(
            WorkerSpec(build_analyse_worker, weights_of(nets), nets.digest),
            AnalyseTask(content, request.model_copy(update={"text": None, "base64": None})),
            lambda cost: where_from(key, nets.main.digest, cost.job, cost.seconds),
            patience=_PATIENCE * turns,
        )

    def extended(self, request: AnalyseRequest, changes: Mapping[str, Any]) -> AnalyseRequest:
        """See `Kind`: the level may rise."""
        level, now = the_change(changes, "level"), _policy(request).level
        if not isinstance(level, int) or not now < level <= 4:
            raise InputError("level", level, f"a level from {now + 1} to 4")
        return request.model_copy(update={"level": level})

    def size(self, request: AnalyseRequest) -> Size:
        """See `Kind`."""
        return Size(1)

    def old_report(self, key: str, net: str, result: bytes, job: str) -> dict[str, Any]:
        """See `Kind`."""
        AnalyseResult.model_validate_json(result)
        return where_from(key, net, job, 0.0)


@dataclass(frozen=True)
class AnalyseTask:
    """A record and how to look at it."""

    content: bytes
    request: AnalyseRequest

    def __repr__(self) -> str:
        return f"analysis of {self.request.name}"


class AnalyseWorker:
    """Answers `AnalyseTask`s with the JSON text of an `AnalyseResult`."""

    def __init__(self, nets: Nets) -> None:
        self._nets = nets

    def run(self, task: AnalyseTask) -> bytes:
        """The answer to one task.

        Raises:
            InputError: a record that can't be followed.
        """
        asked = task.request
        conditions = Conditions(self._nets, asked.met, asked.efficiency, TWO_SIDED_CHECKERS)
        with tempfile.TemporaryDirectory() as folder, Books(shipped=True) as books:
            analysis = ArchiveAnalysis(
                conditions,
                _policy(asked),
                asked.language,
                MemoryStore(),
                InlineExecutor,
                lambda what, done, of: None,
                BookLookup(books) if asked.books else NO_BOOKS,
            )
            path = Path(folder) / "match"
            path.write_bytes(task.content)
            (found,) = analysis.run([FoundFile(path, printable(asked.name))])
        if isinstance(found, Skipped):
            raise InputError("match", asked.name, found.reason)
        return AnalyseResult(analysis=found.analysis, tallies=found.tallies).model_dump_json().encode()


@cache
def _shipped_books() -> list[str]:
    """Digests of their files, read once: every match of an archive asks."""
    return [hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest() for path in shipped_files().values()]


def build_analyse_worker(weights: Weights) -> AnalyseWorker:
    """A worker from the arrays of its nets."""
    return AnalyseWorker(nets_of(weights))


def _content(request: AnalyseRequest) -> bytes:
    if (request.text is None) == (request.base64 is None):
        given = "both" if request.text is not None else "neither"
        raise InputError("text", given, "either text or base64")
    if request.text is not None:
        return request.text.encode()
    try:
        return base64.b64decode(request.base64 or "", validate=True)
    except (binascii.Error, ValueError):
        raise InputError("base64", request.base64, "the bytes of a file in base64") from None


def _policy(request: AnalyseRequest) -> Policy:
    shipped_name("policy", request.policy, "analysis")
    return load_policy(request.policy).changed(request.level, request.rollout_close)
