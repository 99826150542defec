"""An analysis from paths to its report: reads, values, judges, writes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from cluster.archive.analysis import Analysis, ArchiveAnalysis, conditions_shown
from cluster.archive.books import NO_BOOKS, BookLookup
from cluster.archive.evaluation import Advance
from cluster.archive.files import FoundFile, Skipped
from cluster.archive.matches import Conditions
from cluster.archive.output import open_output
from cluster.archive.policy import Policy
from cluster.archive.register import Register
from cluster.archive.schemas import AnalyseReport, PlayerLine, SkippedFile, ValuesLine
from cluster.archive.summary import ArchiveSummary, Summary, values_counts
from cluster.executor import Executor
from cluster.local_job import LocalJob
from cluster.store import JobKind, Store
from engine.analysis.language import Language
from engine.errors import InputError

MOST_LINES = 1000
"""Players and left out files in the answer; the folder has all of them."""


@dataclass(frozen=True, slots=True)
class AnalysisRequest:
    """What is to be analysed, and how."""

    files: tuple[FoundFile, ...]
    out: Path | None
    conditions: Conditions
    policy: Policy
    language: Language
    lookup: BookLookup = NO_BOOKS

    def described(self) -> dict[str, object]:
        """What was asked for, for records of the run."""
        shown = conditions_shown(self.conditions, self.policy, self.lookup)
        out = None if self.out is None else str(self.out)
        return asdict(shown) | {"language": self.language.value, "files": len(self.files), "out": out}


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
    """Analyse an archive by this machine's processes, or those of its Ray cluster.

    Raises:
        InputError: no file that can be analysed, or a folder that can't be written to.
    """
    return carry_out(
        request,
        store,
        ArchiveAnalysis(
            request.conditions, request.policy, request.language, store, executor_for, progress.advance, request.lookup
        ),
        progress,
    )


def carry_out(request: AnalysisRequest, store: Store, analysis: Analysis, progress: Progress) -> AnalyseReport:
    """Have an archive analysed, and write what is asked for; the store gets the job's record.

    Raises:
        InputError: no file that can be analysed, or a folder that can't be written to.
    """
    started = time.perf_counter()
    files = [file for file in request.files if not _is_ours(file, request.out)]
    with ExitStack() as stack:
        described = json.dumps(request.described())
        job = stack.enter_context(LocalJob(store, JobKind.ANALYSE, described, len(files)))
        register = stack.enter_context(Register())
        summary = Summary(conditions_shown(request.conditions, request.policy, request.lookup), register)
        output = None
        if request.out is not None:
            output = stack.enter_context(open_output(request.out, summary, request.language))
        for done, found in enumerate(analysis.run(files), start=1):
            if isinstance(found, Skipped):
                summary.skip(found)
                progress.skipped(found)
            elif output is not None:
                output.add(found)
            else:
                summary.add(found, "")
            job.advance(done)
            progress.files(done, len(files))
        if not summary.matches:
            raise InputError("path", request.files[0].path, "at least one match that can be read")
        books = () if request.lookup.books is None else request.lookup.books.used
        result = summary.finish(books) if output is None else output.finish(books)
        return _report(request, result, summary.games, analysis, job.id, time.perf_counter() - started)


def _is_ours(file: FoundFile, out: Path | None) -> bool:
    """Whether a file was written by an analysis into the same folder: not part of the archive."""
    return out is not None and file.path.resolve().is_relative_to(out.resolve())


def _report(
    request: AnalysisRequest, result: ArchiveSummary, games: int, analysis: Analysis, job: str, seconds: float
) -> AnalyseReport:
    facts, register = result.facts, result.register
    every = facts.all
    players = tuple(
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
        for one in result.players(MOST_LINES)
    )
    skipped = islice(register.every_skipped(), MOST_LINES)
    return AnalyseReport(
        out=None if request.out is None else str(request.out),
        policy=request.policy.name,
        level=request.policy.level,
        net=request.conditions.nets.digest,
        books=tuple(book.name for book in facts.books),
        from_book=request.lookup.instead,
        matches=register.matches,
        games=games,
        decisions=facts.decisions,
        levels=facts.levels,
        pr=None if every is None else every.pr,
        se=None if every is None else every.se,
        players=players,
        more_players=register.players - len(players),
        unreadable=register.skipped - register.copies,
        copies=register.copies,
        skipped=tuple(SkippedFile(file=one.file, reason=one.reason, same_as=one.same_as) for one in skipped),
        values=tuple(
            ValuesLine(level=one.level, asked=one.asked, from_cache=one.from_cache, computed=one.computed)
            for one in values_counts(analysis.counted.values)
        ),
        job=job,
        seconds=seconds,
    )
