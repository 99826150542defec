"""A job that is being worked on, and the rule by which it hands out its next task."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cluster.farm.kinds import Cost, JobRun, Piece
from cluster.ledger import Change, Completion, noted
from cluster.roster import Assignment
from cluster.scheduling import Arrival, Speed
from cluster.store import JobRecord, TrialRange
from engine.errors import GammonfarmError, InfrastructureError, InputError
from workers.spec import WorkerSpec


@dataclass(eq=False)
class ActiveJob:
    """See the module."""

    record: JobRecord
    run: JobRun
    started: float
    speed: Speed
    ready: deque[Piece] = field(default_factory=deque)
    under_way: dict[int, tuple[Assignment, Piece]] = field(default_factory=dict)
    workers: set[str] = field(default_factory=set)
    retries: int = 0
    seconds: float = 0.0
    noted_done: int = -1

    def __post_init__(self) -> None:
        self.arrival = Arrival(self.started)
        self._aside = Speed()  # of pieces without units
        self.noted = self.started  # of its beginning its watchers know

    def next(self, workers: int, under_way: Mapping[str, Sequence[TrialRange]], *, brisk: bool = False) -> Piece | None:
        """The next piece; None when there is nothing to hand out until something comes back.

        Args:
            brisk: a short one, because somebody may want its worker soon.
        """
        if not self.ready:
            # While nothing is known of the speed, one probe is enough: many could be much too large.
            if not self.speed.known and self.under_way:
                return None
            left = self.run.left
            if left <= 0 and not self.restless:
                return None
            self.ready.extend(self.run.pieces(self.speed.block(max(left, 1), workers, brisk=brisk), under_way))
        return self.ready.popleft() if self.ready else None

    @property
    def spent(self) -> bool:
        """Whether all of it is handed out, for good."""
        return not self.ready and self.run.left <= 0

    @property
    def restless(self) -> bool:
        """Whether it can have new tasks although nothing came back."""
        return not self.run.series

    def assignment(self, piece: Piece) -> Assignment:
        """The piece on its way."""
        # What says nothing about the speed takes its time all the same: it counts, and workers are not had for nothing.
        expected = self.speed.seconds(piece.units) if piece.units else self._aside.seconds(1)
        made = Assignment(self.record.id, piece.task, expected, piece.patience)
        self.under_way[id(made)] = (made, piece)
        return made

    def piece_of(self, assignment: Assignment) -> Piece | None:
        """The piece behind a task of this job, while it is under way."""
        found = self.under_way.get(id(assignment))
        return found[1] if found else None

    def came_back(self, assignment: Assignment, worker: str, seconds: float) -> Piece | None:
        """Count a piece; None if it was not under way (any more)."""
        found = self.under_way.pop(id(assignment), None)
        if found is None:
            return None
        piece = found[1]
        self.workers.add(worker)
        self.retries += assignment.kills
        self.seconds += seconds
        speed, units = (self.speed, piece.units) if piece.units else (self._aside, 1)
        speed.measured(units, seconds)
        self.arrival.served(seconds)
        return piece

    def ranges(self) -> dict[str, list[TrialRange]]:
        """What it has computed now, by series."""
        found: dict[str, list[TrialRange]] = {}
        pieces = [*(piece for _, piece in self.under_way.values()), *self.ready]
        for piece in pieces:
            for series, trials in piece.ranges:
                found.setdefault(series, []).append(trials)
        return found

    def given_up(self, now: float) -> str:
        """Why nobody waits for it any longer; "" while that is not so."""
        minutes = self.run.minutes
        if minutes is None or now - self.started < 60.0 * minutes:
            return ""
        return f"given up after {minutes:g} minutes; what it has computed is kept: submit it again"

    def cost(self, now: float) -> Cost:
        """What it took."""
        return Cost(self.record.id, len(self.workers), self.retries, now - self.started)

    def completion(self, now: float) -> Completion:
        """What is written when it is done."""
        run, record = self.run, self.record
        answer = run.result()  # first: it may have something left to write
        report = json.dumps(run.report(self.cost(now)), separators=(",", ":"))
        return Completion(record.id, record.key, answer, report, run.done, run.total, self.progress(now))

    def progress(self, now: float) -> dict[str, Any]:
        """What watchers are told."""
        said = self.run.progress()
        left = max(self.run.total - self.run.done, 0)
        eta = self.arrival.left(now, self.speed.seconds(left)) if self.speed.known else None
        if eta is not None:
            said["eta"] = round(eta, 1)
        return said

    def news(self, now: float, wall: float) -> Change | None:
        """What its watchers have not heard of yet, if anything."""
        done = self.run.done
        if done == self.noted_done:
            return None
        said, self.noted_done = self.progress(now), done
        return noted(self.record.id, done, self.run.total, said, wall)

    def spec_of(self, assignment: Assignment) -> WorkerSpec[Any, Any]:
        """How the worker of one of its tasks is made."""
        return self.under_way[id(assignment)][1].spec


def failure_of(error: BaseException) -> tuple[str, str]:
    """Message and code of what ended a job."""
    if isinstance(error, InputError):
        return str(error), "input"
    if isinstance(error, InfrastructureError):
        return str(error), "infrastructure"
    if isinstance(error, GammonfarmError):
        return str(error), "internal"
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}", "internal"
