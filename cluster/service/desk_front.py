"""Taking submissions in: from JSON to a content key and a line in the ledger."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

from pydantic import Field

from cluster.farm.desk import Desk
from cluster.farm.kinds import Kind
from cluster.farm.registry import Kinds, read, written
from cluster.ledger import Ledger, Submission, Submitted, moved
from cluster.scheduling import Priority
from cluster.schemas import Model
from cluster.service.auth import Caller
from cluster.service.limits import Limits
from cluster.store import JobKind, JobRecord, JobState
from cluster.versions import versions
from engine.errors import InputError

_KEYS = 20_000
_OURS = f'"gammonfarm":"{versions()["gammonfarm"]}"'
"""In the report of an answer that this version has made."""
_RANK = {Priority.BULK: 0, Priority.NORMAL: 1, Priority.INTERACTIVE: 2}


class AnySubmission(Model):
    """A submission of any kind, before its request is looked at."""

    kind: JobKind
    request: dict[str, Any]
    net: str = Field(default="shipped", min_length=1, max_length=130)
    """shipped, champion, NAME@ALIAS, NAME@VERSION or a digest."""
    priority: Priority | None = None
    """None: the usual class of its kind."""


@dataclass(frozen=True)
class Question:
    """A submission that makes sense."""

    kind: Kind
    net: str
    request: Any
    key: str
    priority: Priority


class Front:
    """Everything that an endpoint does with submissions; safe to use from several threads."""

    def __init__(
        self, ledger: Ledger, desk: Desk, kinds: Kinds, limits: Limits, wall: Callable[[], float] = time.time
    ) -> None:
        self._ledger, self._desk, self._kinds, self._limits, self._wall = ledger, desk, kinds, limits, wall
        # By a digest of the question: a whole match is a long one.
        self._keys: OrderedDict[bytes, str] = OrderedDict()
        self._lock = Lock()

    def understand(self, submission: AnySubmission) -> Question:
        """Check a submission and find its key.

        Raises:
            InputError, pydantic.ValidationError: it makes no sense. ProblemError: it is too large.
        """
        kind = self._kinds.of(submission.kind)
        request = kind.request.model_validate(submission.request)
        return self._question(kind, submission.net, request, submission.priority)

    def _question(self, kind: Kind, net: str, request: Any, priority: Priority | None) -> Question:
        self._limits.check(kind.size(request))
        digest = self._desk.digest(net)
        asked = hashlib.blake2b(f"{kind.name.value} {written(digest, request)}".encode(), digest_size=16).digest()
        with self._lock:
            key = self._keys.get(asked)
        if key is None:
            key = kind.key(request, digest, self._desk)
            with self._lock:
                self._keys[asked] = key
                while len(self._keys) > _KEYS:
                    self._keys.popitem(last=False)
        return Question(kind, digest, request, key, priority or kind.priority)

    def submit(self, questions: Sequence[Question], caller: Caller) -> list[Submitted]:
        """Write questions down. One that is an open job of a lower class moves that job up."""
        submissions = [
            Submission(q.kind.name, q.key, written(q.net, q.request), caller.name, q.priority) for q in questions
        ]
        found = self._ledger.submit(submissions, self._wall())
        for at, question in enumerate(questions):
            if self._is_of_another_time(found[at], question):
                self._ledger.drop_result(question.key)
                (found[at],) = self._ledger.submit([submissions[at]], self._wall())
        return self._moved_up(found, questions)

    def _is_of_another_time(self, old: Submitted, question: Question) -> bool:
        """Whether a job's answer was made by a version with other fields: it is made again from the trials."""
        record = old.record
        if old.created or record is None or record.state is not JobState.DONE or _OURS in record.report:
            return False
        answer = self._ledger.get_result(question.key)
        try:
            if answer is not None:
                question.kind.old_report(question.key, question.net, answer, record.id)
        except ValueError:
            return True
        return False

    def _moved_up(self, found: list[Submitted], questions: Sequence[Question]) -> list[Submitted]:
        """The same, once open jobs that are asked for in a higher class than theirs are in it; in one trip for all."""
        higher = {
            at: question.priority
            for at, (one, question) in enumerate(zip(found, questions, strict=True))
            if not one.created and one.record is not None and not one.record.state.is_final
            if _RANK[question.priority] > _RANK[one.record.priority]
        }
        if higher:
            now = self._wall()
            self._ledger.take([moved(found[at].job, priority, now) for at, priority in higher.items()])
            records = self._ledger.get_jobs([found[at].job for at in higher])
            for at, record in zip(higher, records, strict=True):
                found[at] = replace(found[at], record=record)
        return found

    def extended(self, record: JobRecord, changes: dict[str, Any]) -> Question:
        """The question of a job with more work in it.

        Raises:
            InputError: it can't be extended that way.
        """
        if not record.client:
            raise InputError("job", record.id, "a job of the farm")
        kind = self._kinds.of(record.kind)
        net, request = read(kind, record.request)
        return self._question(kind, net, kind.extended(request, changes), record.priority)
