"""Whose turn it is, how large a block should be, and when a job will be done. Pure: time and speeds are arguments.

Two levels of stride scheduling. The farm's processor seconds are shared between classes of priority by their weights,
inside a class equally between the clients that have work, and inside a client between the jobs that he has begun. Who
had nothing to do gets no credit for it later: he joins at the virtual time of those who worked. So a newly submitted
interactive job is next, whatever waits in front of it, and a book still gets its hundredth part while others are busy.

(Waldspurger and Weihl, "Stride Scheduling: Deterministic Proportional-Share Resource Management", 1995.)
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from engine.errors import InternalError


class Priority(StrEnum):
    """A job's class: who waits for its answer."""

    INTERACTIVE = "interactive"
    """Somebody sits in front of a screen."""
    NORMAL = "normal"
    BULK = "bulk"
    """Books, archives, training: hours, whatever happens."""


SHARES = {Priority.INTERACTIVE: 100.0, Priority.NORMAL: 10.0, Priority.BULK: 1.0}
"""Weights by which classes that all have work share the farm."""

JOBS_AT_ONCE = 8
"""Jobs of one client in one class that have work to hand out at the same time; the others wait in the order they
came. Jobs that only wait for their last blocks don't count: those of a single task would leave most workers idle.
"""


MOST_CREDIT = 10.0
"""Virtual seconds that a class or a client may have less than the others after it waited for its own last blocks: a few
blocks, and not the minutes for which the learner of a training fits.
"""


@dataclass
class _Job:
    id: str
    order: float
    served: float = 0.0
    waiting: bool = False


@dataclass
class _Client:
    virtual: float = 0.0
    queued: dict[str, _Job] = field(default_factory=dict)
    begun: dict[str, _Job] = field(default_factory=dict)
    spent: dict[str, _Job] = field(default_factory=dict)
    """All of them is handed out."""

    def next(self) -> _Job | None:
        """The begun job that got least; a queued one where fewer are under way than may be."""
        ready = [job for job in self.begun.values() if not job.waiting]
        if self.queued and len(self.begun) < JOBS_AT_ONCE:
            first = next(iter(self.queued.values()))
            # A job that has not begun has been served nothing.
            return first if all(job.served > 0 for job in ready) else min(ready, key=lambda j: (j.served, j.order))
        return min(ready, key=lambda job: (job.served, job.order), default=None)

    @property
    def idle(self) -> bool:
        """Whether all that it has waits for something."""
        if self.queued and len(self.begun) < JOBS_AT_ONCE:
            return False
        return all(job.waiting for job in self.begun.values())

    def holds(self, job: str) -> dict[str, _Job]:
        """Where a job is."""
        return next(where for where in (self.begun, self.spent, self.queued) if job in where)

    @property
    def empty(self) -> bool:
        return not (self.queued or self.begun or self.spent)


@dataclass
class _Class:
    virtual: float = 0.0
    clients: dict[str, _Client] = field(default_factory=dict)
    now: float = 0.0
    """Virtual time among its clients."""


class FairQueue:
    """The open jobs of a farm and whose turn it is."""

    def __init__(self) -> None:
        self._classes = {priority: _Class() for priority in Priority}
        self._home: dict[str, tuple[Priority, str]] = {}
        self._now = 0.0

    def __len__(self) -> int:
        return len(self._home)

    def __contains__(self, job: str) -> bool:
        return job in self._home

    def jobs(self) -> list[str]:
        """All jobs that are in."""
        return list(self._home)

    def add(self, job: str, client: str, priority: Priority, order: float) -> None:
        """Let a job in; `order` sorts the jobs of one client (rising)."""
        if job in self._home:
            raise InternalError(f"job {job} is in the queue already")
        owner = self._classes[priority].clients.setdefault(client, _Client())
        self._rouse(priority, owner)
        owner.queued[job] = _Job(job, order)
        self._home[job] = (priority, client)

    def remove(self, job: str) -> None:
        """Take a job out, whether finished or not; unknown ones are ignored."""
        if job not in self._home:
            return
        priority, name = self._home.pop(job)
        group = self._classes[priority]
        client = group.clients[name]
        del client.holds(job)[job]
        if client.empty:
            del group.clients[name]

    def move(self, job: str, priority: Priority) -> None:
        """Change a job's class."""
        before, client = self._home[job]
        if before is not priority:
            owner, state = self._client(job), self._state(job)
            begun, spent = job not in owner.queued, job in owner.spent
            self.remove(job)
            self.add(job, client, priority, state.order)
            if begun:
                self.begin(job)
                self.wait(job, state.waiting)
            if spent:
                self.spend(job)

    def begin(self, job: str) -> None:
        """The job is worked on from now."""
        owner = self._client(job)
        if job in owner.queued:
            owner.begun[job] = owner.queued.pop(job)

    def spend(self, job: str) -> None:
        """A begun job has handed out all that it will ever have."""
        owner = self._client(job)
        if job in owner.begun:
            owner.spent[job] = owner.begun.pop(job)

    def wait(self, job: str, waiting: bool) -> None:
        """Say that a begun job has (or no longer has) nothing to hand out until something of it comes back."""
        if job in self._home:
            if not waiting:
                self._rouse(self._home[job][0], self._client(job))
            self._state(job).waiting = waiting

    def next(self) -> str | None:
        """The job whose turn it is; None when no job has anything to hand out."""
        for priority, group in self._by_virtual_time():
            for name, client in sorted(group.clients.items(), key=lambda item: (item[1].virtual, item[0])):
                job = client.next()
                if job is not None:
                    self._now = max(self._now, group.virtual)
                    group.now = max(group.now, client.virtual)
                    assert self._home[job.id] == (priority, name)
                    return job.id
        return None

    def charge(self, job: str, seconds: float) -> None:
        """Count processor seconds given to a job (or, negative, given back)."""
        if job not in self._home:
            return
        priority, client = self._home[job]
        group = self._classes[priority]
        group.virtual += seconds / SHARES[priority]
        group.clients[client].virtual += seconds
        self._state(job).served += seconds

    def priority(self, job: str) -> Priority:
        """The class of a job that is in."""
        return self._home[job][0]

    def clients(self) -> int:
        """Clients with open jobs."""
        return len({client for _, client in self._home.values()})

    def _rouse(self, priority: Priority, client: _Client) -> None:
        """A client will have work, who may have had none, or whose jobs all waited for something."""
        group = self._classes[priority]
        clients = group.clients.values()
        if all(other.idle for other in clients):
            credit = 0.0 if all(other.empty for other in clients) else MOST_CREDIT
            group.virtual = max(group.virtual, self._now - credit)
        if client.idle:
            client.virtual = max(client.virtual, group.now - (0.0 if client.empty else MOST_CREDIT))

    def _by_virtual_time(self) -> Iterator[tuple[Priority, _Class]]:
        order = {priority: rank for rank, priority in enumerate(Priority)}
        busy = [(p, g) for p, g in self._classes.items() if g.clients]
        yield from sorted(busy, key=lambda item: (item[1].virtual, order[item[0]]))

    def _client(self, job: str) -> _Client:
        priority, name = self._home[job]
        return self._classes[priority].clients[name]

    def _state(self, job: str) -> _Job:
        return self._client(job).holds(job)[job]


class Courtesy:
    """Whether jobs of other classes keep room for people: where an interactive job came within the last minute, the
    next one is likely to come soon. Then no worker gets a block of another class ahead of time, and these blocks are
    shorter, so that a person waits for about half of one. Otherwise workers never wait for us between two blocks.
    """

    def __init__(self, seconds: float = 60.0) -> None:
        self._seconds = seconds
        self._until = float("-inf")

    def came(self, priority: Priority, now: float) -> None:
        """A job came in."""
        if priority is Priority.INTERACTIVE:
            self._until = now + self._seconds

    def asks(self, priority: Priority, now: float) -> bool:
        """Whether jobs of this class keep room now."""
        return priority is not Priority.INTERACTIVE and now < self._until


@dataclass(frozen=True, slots=True)
class BlockSizes:
    """How long a block should take."""

    target: float = 2.0
    """Processor seconds; blocks of a known speed stay between half and one and a half of it."""
    brisk: float = 1.0
    """The same while room is kept for people."""
    first: int = 12
    """Units (trials of all candidates) of a job's first block where nothing is known of its speed: few, because all
    other workers wait for it."""
    growth: float = 4.0
    """Most times by which a block is larger than the largest one that was measured."""
    round_to: int = 36


DEFAULT_SIZES = BlockSizes()


class Speed:
    """How fast one job's units are computed: a moving average, weighted by the seconds behind it."""

    def __init__(self, guess: float | None = None, sizes: BlockSizes = DEFAULT_SIZES) -> None:
        """
        Args:
            guess: units a second that another job like it had; None: no such job is known.
        """
        self._sizes = sizes
        self._guess = guess
        self._units = 0.0
        self._seconds = 0.0
        self._largest = 0

    @property
    def known(self) -> bool:
        """Whether anything was measured, of this job or one like it."""
        return self.per_second is not None

    @property
    def per_second(self) -> float | None:
        """Units a second; None while nothing is known."""
        return self._units / self._seconds if self._units > 0 else self._guess

    def measured(self, units: int, seconds: float) -> None:
        """A block of so many units took so long."""
        # Older blocks count for at most four targets: the speed follows when games get longer.
        keep = min(1.0, 4 * self._sizes.target / self._seconds) if self._seconds else 0.0
        self._units = keep * self._units + units
        self._seconds = keep * self._seconds + max(seconds, 1e-9)
        self._largest = max(self._largest, units)

    def seconds(self, units: float) -> float:
        """How long so many units will take; the target while nothing is known."""
        per_second = self.per_second
        return self._sizes.target if per_second is None else units / per_second

    def block(self, units_left: int, workers: int, *, brisk: bool = False) -> int:
        """Units of the next block.

        The last blocks of a job are cut smaller, down to an eighth of the target, so that all workers end together: a
        block is at most half of a worker's part of what is left (factoring; Hummel, Schonberg and Flynn, 1992).

        Args:
            brisk: whether room is kept for people.
        """
        per_second = self.per_second
        if per_second is None:
            return max(1, min(self._sizes.first, units_left))
        target = self._sizes.brisk if brisk else self._sizes.target
        # A guess may be several times wrong.
        most = self._sizes.growth * self._largest if self._largest else self._sizes.target / 4 * per_second
        wanted = min(target * per_second, most)
        share = max(units_left / (2 * max(workers, 1)), self._sizes.target / 8 * per_second)
        size = max(1, int(min(wanted, share)))
        if size > self._sizes.round_to:
            size -= size % self._sizes.round_to
        return max(1, min(size, units_left))


class Speeds:
    """How fast jobs were, by likeness: what is guessed of the next one of the kind."""

    def __init__(self, most: int = 256) -> None:
        """
        Args:
            most: likenesses that are remembered, those that worked last.
        """
        self._most = most
        self._seen: OrderedDict[str, float] = OrderedDict()

    def of(self, likeness: str) -> Speed:
        """The speed of a new job; "" is like nothing."""
        return Speed(self._seen.get(likeness))

    def note(self, likeness: str, speed: Speed) -> None:
        """A block of such a job was measured."""
        per_second = speed.per_second
        if likeness and per_second is not None:
            self._seen[likeness] = per_second
            self._seen.move_to_end(likeness)
            while len(self._seen) > self._most:
                self._seen.popitem(last=False)


class Arrival:
    """When a job will be done: its work left by the rate at which it is served."""

    def __init__(self, started: float) -> None:
        self._started = started
        self._seconds = 0.0

    def served(self, seconds: float) -> None:
        """Processor seconds that were spent on it."""
        self._seconds += seconds

    def left(self, now: float, seconds_left: float) -> float | None:
        """Seconds until it is done, if it goes on being served as it was; None before anything came back."""
        elapsed = now - self._started
        if self._seconds <= 0 or elapsed <= 0:
            return None
        return seconds_left / (self._seconds / elapsed)
