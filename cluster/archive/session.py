"""An analysis from paths to its report: reads, values, judges, writes."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from cluster.archive.analysis import ArchiveAnalysis, conditions_shown
from cluster.archive.evaluation import Advance
from cluster.archive.files import FoundFile, Skipped
from cluster.archive.matches import Conditions
from cluster.archive.output import Output, open_output
from cluster.archive.policy import Policy
from cluster.archive.schemas import AnalyseReport, PlayerLine, SkippedFile, ValuesLine
from cluster.archive.summary import ArchiveSummary, Summary, values_counts
from cluster.executor import Executor
from cluster.store import Store
from engine.analysis.language import Language
from engine.errors import InputError


@dataclass(frozen=True, slots=True)
class AnalysisRequest:
    """What is to be analysed, and how."""

    files: tuple[FoundFile, ...]
    out: Path | None
    conditions: Conditions
    policy: Policy
    language: Language


@dataclass(frozen=True, slots=True)
class Progress:
    """Told what happens."""

    advance: Advance
    files: Callable[[int, int], None]
    """How many files of how many are done."""
    skipped: Callable[[Skipped], None]


def analyse(
    request: AnalysisRequest, store: Store, executor_for: Callable[[], Executor], progress: Progress
) -> AnalyseReport:
    """Analyse an archive.

    Raises:
        InputError: no file that can be analysed, or a folder that can't be written to.
    """
    started = time.perf_counter()
    files = [file for file in request.files if not _is_ours(file, request.out)]
    analysis = ArchiveAnalysis(
        request.conditions, request.policy, request.language, store, executor_for, progress.advance
    )
    summary = Summary(conditions_shown(request.conditions, request.policy))
    writing: AbstractContextManager[Output | None] = (
        nullcontext() if request.out is None else open_output(request.out, summary, request.language)
    )
    with writing as output:
        for done, found in enumerate(analysis.run(files), start=1):
            if isinstance(found, Skipped):
                summary.skip(found)
                progress.skipped(found)
            elif output is not None:
                output.add(found)
            else:
                summary.add(found, "")
            progress.files(done, len(files))
        if not summary.matches:
            raise InputError("path", request.files[0].path, "at least one match that can be read")
        result = summary.finish() if output is None else output.finish()
    return _report(request, result, analysis, time.perf_counter() - started)


def _is_ours(file: FoundFile, out: Path | None) -> bool:
    """Whether a file was written by an analysis into the same folder: not part of the archive."""
    return out is not None and file.path.resolve().is_relative_to(out.resolve())


def _report(
    request: AnalysisRequest, result: ArchiveSummary, analysis: ArchiveAnalysis, seconds: float
) -> AnalyseReport:
    every = result.all
    return AnalyseReport(
        out=None if request.out is None else str(request.out),
        policy=request.policy.name,
        level=request.policy.level,
        net=request.conditions.nets.digest,
        matches=len(result.matches),
        games=sum(row.games for row in result.matches),
        decisions=result.decisions,
        levels=result.levels,
        pr=None if every is None else every.pr,
        se=None if every is None else every.se,
        players=tuple(
            PlayerLine(
                name=one.figures.name,
                matches=one.matches,
                decisions=one.figures.decisions,
                pr=one.figures.pr,
                se=one.figures.se,
                errors=one.figures.errors,
                blunders=one.figures.blunders,
                luck=one.figures.luck,
            )
            for one in result.players
        ),
        skipped=tuple(SkippedFile(file=one.file, reason=one.reason, same_as=one.same_as) for one in result.skipped),
        values=tuple(
            ValuesLine(level=one.level, asked=one.asked, from_cache=one.from_cache, computed=one.computed)
            for one in values_counts(analysis.counted.values)
        ),
        seconds=seconds,
    )
