"""How far a training run is, and how fast it goes: what displays and records are told."""

from __future__ import annotations

import time
from dataclasses import dataclass

from training.history import History, Score
from training.production import Counter, Produced


@dataclass(frozen=True, slots=True)
class Status:
    """Where a run stands, for display."""

    generation: int
    """Fitted so far."""
    generations: int
    produced: Produced
    """By this process."""
    games_per_s: float
    samples_per_s: float
    """Labelled positions made a second."""
    doing: str
    """What the learner is doing, in words."""
    fitted_per_s: float
    """Samples fitted a second, while there is something to fit."""
    loss: float | None
    score: Score | None
    """The last benchmark."""
    seconds_left: float | None


class Progress:
    """Counts and clocks of a run in this process; `counter` counts what is produced."""

    def __init__(self, generations: int, history: History) -> None:
        self.counter = Counter()
        self._generations = generations
        self._history = history
        self._first = self._done
        self._started = time.perf_counter()
        self._fitted = 0
        self._fitting = 0.0

    @property
    def _done(self) -> int:
        return self._history.entries[-1].generation if self._history.entries else 0

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.perf_counter() - self._started

    @property
    def loss(self) -> float | None:
        """Of the last generation."""
        return self._history.entries[-1].loss if self._history.entries else None

    def fitted(self, samples: int, seconds: float) -> None:
        """So many more samples went through the learner in so many seconds."""
        self._fitted += samples
        self._fitting += seconds

    def status(self, doing: str, loss: float | None = None) -> Status:
        """Where the run stands; `loss` of the generation under way."""
        elapsed = max(self.seconds, 1e-9)
        produced = self.counter.read()
        here = self._done - self._first
        return Status(
            generation=self._done,
            generations=self._generations,
            produced=produced,
            games_per_s=produced.games / elapsed,
            samples_per_s=produced.samples / elapsed,
            doing=doing,
            fitted_per_s=self._fitted / self._fitting if self._fitting > 0 else 0.0,
            loss=self.loss if loss is None else loss,
            score=self._history.last_score(),
            seconds_left=elapsed / here * (self._generations - self._done) if here else None,
        )
