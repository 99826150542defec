"""`gammonfarm analyse` and `gammonfarm similar`."""

from __future__ import annotations

import enum
import logging
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from cluster.cli.means import executor_starter, open_the_store
from cluster.cli.options import (
    BearoffCheckersOption,
    EfficiencyOption,
    ExecutorName,
    ExecutorOption,
    JsonOption,
    MetOption,
    NetOption,
    PositionArgument,
    WorkersOption,
    check_workers,
    chosen_nets,
    tell,
)

log = logging.getLogger(__name__)
NO_BOOK = "none"


class LanguageName(enum.Enum):
    """Languages of reports."""

    EN = "en"
    ES = "es"
    PT = "pt"


LanguageOption = Annotated[LanguageName, typer.Option("--language", help="Of reports and sentences.")]


def analyse(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Match files, or folders with them.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write pages, JSON, CSV, Parquet and flash cards here.")
    ] = None,
    policy: Annotated[
        str,
        typer.Option("--policy", metavar="NAME|FILE", help="How deep to look where: quick, normal, deep or FILE.toml."),
    ] = "normal",
    level: Annotated[
        int | None, typer.Option("--level", metavar="N", help="Plies of the second look; default: the policy's.")
    ] = None,
    rollout_close: Annotated[
        float | None,
        typer.Option(
            "--rollout-close", metavar="X", help="Roll out what differs by at most X points after that; 0: nothing."
        ),
    ] = None,
    book: Annotated[
        str | None,
        typer.Option(
            "--book",
            metavar="NAME|FILE|none",
            help="Opening book that first plays and replies are also compared with; default: that of the rule set.",
        ),
    ] = None,
    from_book: Annotated[
        bool,
        typer.Option(
            "--from-book", help="Judge plays that a book for their score lists by its values, not by the analysis."
        ),
    ] = False,
    language: LanguageOption = LanguageName.EN,
    met: MetOption = None,
    efficiency: EfficiencyOption = "fitted",
    bearoff_checkers: BearoffCheckersOption = 6,
    net: NetOption = None,
    workers: WorkersOption = None,
    executor: ExecutorOption = ExecutorName.RAY,
    json: JsonOption = False,
) -> None:
    """Analyse match files of any format: every error of every player, ratings, luck, and reports.

    All decisions are looked at with 1 ply, deeper only where it matters. Each distinct position is valued once, and its
    deeper values are kept: the same command goes on after a kill. A file that can't be read is named and skipped.
    """
    from cluster.archive.books import NO_BOOKS, BookLookup, Books
    from cluster.archive.files import find_files
    from cluster.archive.matches import Conditions
    from cluster.archive.policy import load_policy
    from cluster.archive.session import AnalysisRequest
    from cluster.archive.session import analyse as run
    from cluster.cli import remote
    from cluster.cli.render import open_databases_live
    from cluster.cli.render_analysis import AnalysisProgress, show_analysis
    from cluster.settings import load_settings
    from cluster.tracking import track_analysis
    from engine.analysis.language import Language
    from engine.bearoff import check_two_sided
    from engine.errors import InputError

    check_workers(workers)
    check_two_sided(bearoff_checkers)
    if from_book and book == NO_BOOK:
        raise InputError("from_book", "true", f"a book, not --book {NO_BOOK}")
    conditions = Conditions(chosen_nets(net), met, efficiency, bearoff_checkers)
    conditions.check()
    settings = load_settings()
    on_farm = remote.farm_is_named() and executor is not ExecutorName.INLINE
    with ExitStack() as stack:
        lookup = NO_BOOKS
        if book != NO_BOOK:
            lookup = BookLookup(stack.enter_context(Books(book, shipped=on_farm)), from_book)
        request = AnalysisRequest(
            files=tuple(find_files(paths)),
            out=out,
            conditions=conditions,
            policy=load_policy(policy).changed(level, rollout_close),
            language=Language(language.value),
            lookup=lookup,
        )
        if on_farm:
            with AnalysisProgress() as live:
                report = remote.analyse(request, net, live.told())
            tell(report, json, show_analysis)
            return
        store = open_the_store(stack)
        open_databases_live(bearoff_checkers)  # the first time they must be built: here, not by every worker
        start_executor = executor_starter(stack, executor, workers)
        tracked = track_analysis(settings, request)
        try:
            with AnalysisProgress() as live:
                report = run(request, store, start_executor, live.told())
        except BaseException:
            tracked.failed()
            raise
        tell(report, json, show_analysis)
        tracked.finished(report)


def similar(
    position: PositionArgument,
    archive: Annotated[
        Path, typer.Option("--in", metavar="ARCHIVE", help="A folder that analyse wrote, or match files.")
    ],
    most: Annotated[int, typer.Option("--most", metavar="N", help="Positions to find.")] = 12,
    least: Annotated[int, typer.Option("--least", metavar="PERCENT", help="Similarity that they need.")] = 60,
    json: JsonOption = False,
) -> None:
    """Find the positions of an archive that are most like a given one, with what was played there."""
    from cluster.archive.similar import find_similar
    from cluster.cli.render_analysis import show_similar
    from engine.ids import parse_position

    report = find_similar(parse_position(position), archive, most, least)
    tell(report, json, show_similar)
