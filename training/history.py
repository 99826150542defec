"""What each generation of a run came to, one line of JSON each: it outlives interruptions and needs no MLflow."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from engine.whole_file import replacing
from training.benchmark import CheckerScore
from training.gate import GateResult, Verdict


class Score(BaseModel):
    """A benchmark: mEq per decision with its 95 % interval."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    meq: float
    low: float
    high: float

    @staticmethod
    def of(score: CheckerScore) -> Score:
        """The numbers that are kept."""
        low, high = score.interval95
        return Score(meq=score.meq_per_decision, low=low, high=high)


class Judgement(BaseModel):
    """What the gate said of the finished net."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    verdict: Verdict
    champion: str
    difference_meq: float | None
    """On the benchmark, negative = the net is better; None without one."""
    points: float | None
    """Per game of the match against the champion; None without one."""
    low: float | None
    high: float | None
    games: int

    @staticmethod
    def of(result: GateResult) -> Judgement:
        """The numbers that are kept."""
        match = result.match
        return Judgement(
            verdict=result.verdict,
            champion=result.champion,
            difference_meq=result.benchmark.difference if result.benchmark else None,
            points=match.estimate.mean if match else None,
            low=match.interval95[0] if match else None,
            high=match.interval95[1] if match else None,
            games=match.games if match else 0,
        )


class Entry(BaseModel):
    """One generation, counted from 1."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    generation: int
    games: int
    samples: int
    fitted: int
    refused: int
    loss: float
    learning_rate: float
    td_lambda: float
    score: Score | None = None
    gate: Judgement | None = None
    """Of the last generation, once it was judged."""


class History:
    """The entries of a run, in a file."""

    def __init__(self, path: Path, done: int) -> None:
        """Reads the entries up to generation `done`; what was fitted after the last checkpoint comes again."""
        self._path = path
        self.entries: list[Entry] = []
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    entry = Entry.model_validate_json(line)
                except ValidationError:  # the line that was being written
                    continue
                if entry.generation <= done:
                    self.entries.append(entry)
        self._write()

    def last_score(self) -> Score | None:
        """The last benchmark."""
        return next((entry.score for entry in reversed(self.entries) if entry.score), None)

    def add(self, entry: Entry) -> None:
        """One more generation."""
        self.entries.append(entry)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(entry.model_dump_json() + "\n")

    def judge(self, judgement: Judgement) -> None:
        """Add the gate's verdict to the last generation."""
        if self.entries:
            self.entries[-1] = self.entries[-1].model_copy(update={"gate": judgement})
            self._write()

    def _write(self) -> None:
        with replacing(self._path) as partial:
            partial.write_text("".join(entry.model_dump_json() + "\n" for entry in self.entries), encoding="utf-8")
