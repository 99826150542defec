"""The JSON document of `gammonfarm benchmark suite`."""

from __future__ import annotations

from cluster.schemas import Model
from training.suite.figures import Figure, Measure, Missing, OpeningChoice, Part, ReliabilityBin, SuiteResult, Unit
from training.suite.references import Reference, load_references


class ReferenceFigure(Model):
    """The same figure of another program."""

    program: str
    value: float
    interval95: tuple[float, float] | None
    origin: str


class SuiteFigure(Model):
    """One figure of the suite; part, source, measure, group and level name it."""

    part: Part
    source: str
    measure: Measure
    group: str | None
    """Of what: a position class, a probability, a cube state; null for everything in the file."""
    level: int | None
    """Plies counted from 1; null where no net is asked."""
    n: int
    value: float
    unit: Unit
    interval95: tuple[float, float] | None
    """Null where nothing was sampled."""
    references: tuple[ReferenceFigure, ...]


class OpeningRow(Model):
    """What is played with a first roll."""

    source: str
    roll: str
    """Two digits, such as 31."""
    level: int
    book_play: str
    play: str
    loss: float | None
    """Equity by the book's own equities; null for a play that it doesn't list."""


class ReliabilityRow(Model):
    """Positions to which the evaluator gave similar probabilities, and what the rollouts say of them."""

    source: str
    probability: str
    level: int | None
    low: float
    high: float
    n: int
    predicted: float
    rolled_out: float


class MissingFile(Model):
    """A file that a part would have used."""

    part: Part
    file: str


class SuiteReport(Model):
    """The JSON document of `gammonfarm benchmark suite`: the same but for `seconds` whatever the threads."""

    net: str
    filter: str
    """Name of the move filter."""
    efficiency: str
    """Name of the cube's efficiency."""
    figures: tuple[SuiteFigure, ...]
    openings: tuple[OpeningRow, ...]
    reliability: tuple[ReliabilityRow, ...]
    missing: tuple[MissingFile, ...]
    seconds: float


def suite_report(result: SuiteResult, net: str, filter_name: str, efficiency: str, seconds: float) -> SuiteReport:
    """The document of a run, with the references beside the figures."""
    references = load_references()
    return SuiteReport(
        net=net,
        filter=filter_name,
        efficiency=efficiency,
        figures=tuple(_figure(figure, references) for figure in result.figures),
        openings=tuple(_opening(choice) for choice in result.openings),
        reliability=tuple(_reliability(one) for one in result.reliability),
        missing=tuple(_missing(one) for one in result.missing),
        seconds=seconds,
    )


def _figure(figure: Figure, references: tuple[Reference, ...]) -> SuiteFigure:
    beside = tuple(
        ReferenceFigure(program=r.program, value=r.value, interval95=r.interval95, origin=r.origin)
        for r in references
        if r.is_beside(figure)
    )
    return SuiteFigure(
        part=figure.part,
        source=figure.source,
        measure=figure.measure,
        group=figure.group,
        level=figure.level,
        n=figure.n,
        value=figure.value,
        unit=figure.unit,
        interval95=figure.interval95,
        references=beside,
    )


def _opening(choice: OpeningChoice) -> OpeningRow:
    return OpeningRow(
        source=choice.source,
        roll=f"{choice.dice[0]}{choice.dice[1]}",
        level=choice.level,
        book_play=choice.book_play,
        play=choice.play,
        loss=choice.loss,
    )


def _reliability(one: ReliabilityBin) -> ReliabilityRow:
    return ReliabilityRow(
        source=one.source,
        probability=one.probability,
        level=one.level,
        low=one.low,
        high=one.high,
        n=one.n,
        predicted=one.predicted,
        rolled_out=one.rolled_out,
    )


def _missing(one: Missing) -> MissingFile:
    return MissingFile(part=one.part, file=one.file)
