"""What people see of opening books."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from cluster.book.artifact import Book
from cluster.book.book_steps import BuildProgress
from cluster.book.entry import Entry
from cluster.book.schemas import (
    BookBuildReport,
    BookCompareReport,
    BookDiffReport,
    BookEntry,
    BookInfo,
    BookListReport,
    BookMatch,
    BookMergeReport,
    BookPlay,
    BookQuizReport,
    BookResult,
    BookShowReport,
    BookVerifyReport,
    QuizAnswer,
    Standing,
)
from cluster.cli.on_screen import OnScreen
from cluster.cli.render import OUTCOME_HEADS, percent, plain_table, stdout_console
from engine.display import board_text

_DEPTHS = ("openings", "replies", "third rolls", "fourth rolls", "fifth rolls", "sixth rolls")
_STANDINGS = {Standing.BEST: "", Standing.PLAYABLE: "playable", Standing.OPEN: "open", Standing.BEATEN: ""}
_WIDTH = 150


class BuildLine(OnScreen):
    """A live line on stderr: entries of the depth, the line under way, trials of the book."""

    def __init__(self, budget: int | None) -> None:
        self._budget = budget
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=16),
            TextColumn("{task.completed}/{task.total} entries, {task.fields[trials]}{task.fields[now]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True, emoji=False),
        )
        super().__init__(self._progress)
        self._task = self._progress.add_task("openings", total=None, trials="", now="")

    def update(self, now: BuildProgress) -> None:
        """Show where the build stands."""
        running = f", {now.path}" if now.path else ""
        running += f" and {now.under_way - 1} more under way" if now.under_way > 1 else ""
        budget = f" of {self._budget:,}" if self._budget else ""
        self._progress.update(
            self._task,
            description=_DEPTHS[now.depth - 1],
            completed=now.done,
            total=now.entries,
            trials=f"{now.trials:,}{budget} trials",
            now=running,
        )


def show_build(report: BookBuildReport) -> None:
    """What there is now."""
    out = stdout_console()
    show_info(report.book)
    ended = "all that the recipe asks for" if report.finished else "ended by the budget: run it again to go on"
    out.print(f"{report.computed:,} entries computed in {report.seconds:.0f} s, {ended}", markup=False)
    out.print(f"file {report.book.file}", markup=False, soft_wrap=True)


def show_info(info: BookInfo) -> None:
    """Which book, and how large it is."""
    identity = info.identity
    depths = ", ".join(f"{n:,} {name}" for n, name in zip(info.entries, _DEPTHS, strict=False))
    verdicts = ", ".join(f"{number:,} {name}" for name, number in info.verdicts.items() if number)
    stdout_console().print(
        f"book {info.name}: {identity.words}, {depths or 'empty'} ({verdicts or 'no verdicts'}), "
        f"{info.trials:,} trials, net {identity.net}, seed {identity.seed}",
        markup=False,
        soft_wrap=True,
    )


def show_list(report: BookListReport) -> None:
    """A row a book."""
    out = stdout_console(_WIDTH)
    if not report.books:
        out.print("no books yet: gammonfarm book build makes one")
        return
    table = plain_table("book", "games", "entries", "settled", "both playable", "open", "trials", "file")
    for info in report.books:
        verdicts = (f"{info.verdicts[name]:,}" for name in ("settled", "both playable", "open"))
        entries = " + ".join(f"{n:,}" for n in info.entries)
        table.add_row(info.name, info.identity.words, entries, *verdicts, f"{info.trials:,}", info.file)
    out.print(table)


def show_entries(report: BookShowReport) -> None:
    """The plays of one roll, or the best play of each."""
    out = stdout_console(_WIDTH)
    if report.plays:
        _print_plays(report.plays)
        entry = report.entries[0]
        out.print(f"\n{entry.verdict.value}, id {entry.id}", markup=False)
    else:
        _print_entries(report.entries)
    out.print()
    show_info(report.book)


def show_result(result: BookResult) -> None:
    """The openings of a book that a farm has built, and how large it is."""
    _print_entries(result.openings)
    fields = result.model_dump(include={"name", "identity", "entries", "verdicts", "trials"})
    stdout_console().print()
    show_info(BookInfo.model_validate(fields | {"file": ""}))


def _print_entries(entries: Sequence[BookEntry]) -> None:
    """The best play of each roll."""
    table = plain_table("roll", "best play", "equity", "SE", "next", "loss", "SE", "verdict", "trials")
    for column in (1, 4, 7):
        table.columns[column].justify = "left"
    for entry in entries:
        table.add_row(*_overview(entry))
    stdout_console(_WIDTH).print(table)


def _overview(entry: BookEntry) -> tuple[str, ...]:
    best, *rest = entry.plays
    behind = ("", "", "")
    if rest:
        behind = (rest[0].play, f"{-rest[0].difference:.4f}", f"{rest[0].difference_se:.4f}")
    return (
        *(entry.roll, best.play, f"{best.equity:+.4f}", f"{best.se:.4f}", *behind),
        *(entry.verdict.value, f"{entry.trials:,}"),
    )


def _print_plays(plays: tuple[BookPlay, ...]) -> None:
    heads = ("play", "", "equity", "SE", "diff", "SE diff", "search", "rollout", *(f"{h} %" for h in OUTCOME_HEADS))
    table = plain_table(*heads, "trials")
    for p in plays:
        behind = (f"{p.difference:+.4f}", f"{p.difference_se:.4f}") if p.standing is not Standing.BEST else ("", "")
        table.add_row(
            *(p.play, _STANDINGS[p.standing], f"{p.equity:+.4f}", f"{p.se:.4f}", *behind),
            *(f"{p.search_equity:+.4f}", f"{p.simulation_equity:+.4f}", *percent(p.probabilities), f"{p.trials:,}"),
        )
    stdout_console(_WIDTH).print(table)


def show_match(match: BookMatch) -> None:
    """What a book says beside an evaluation."""
    stdout_console().print(f"\nbook {match.name}: {match.verdict.value}", style="bold", markup=False)
    _print_plays(match.plays)


@contextmanager
def verifying(entries: int) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr while entries are made again."""
    with Progress(
        TextColumn("making entries again"),
        BarColumn(bar_width=24),
        TextColumn("{task.completed}/{task.total}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=entries == 0,
    ) as progress:
        task = progress.add_task("entries", total=entries)
        yield lambda done, of: progress.update(task, completed=done, total=of)


def show_verification(report: BookVerifyReport) -> None:
    """What was checked, and what differs."""
    out = stdout_console()
    show_info(report.book)
    out.print(f"digest {report.digest}")
    out.print(f"numbers of {report.arithmetic:,} entries follow from their sums: {_yes(not report.wrong)}")
    if report.recomputed:
        same = sum(check.ok for check in report.recomputed)
        out.print(f"made again from nothing: {same} of {len(report.recomputed)} the same to the last bit")
    for check in (*report.wrong, *(check for check in report.recomputed if not check.ok)):
        out.print(f"DIFFERS {check.path}: {', '.join(check.differs)}", markup=False, soft_wrap=True)


def _yes(ok: bool) -> str:
    return "yes" if ok else "NO"


def show_merge(report: BookMergeReport) -> None:
    """What the book has got."""
    show_info(report.book)
    stdout_console().print(f"{report.added:,} entries added, {report.replaced:,} replaced, digest {report.digest}")


def show_diff(report: BookDiffReport) -> None:
    """Counts, and the entries with other best plays."""
    out = stdout_console(_WIDTH)
    counts = ", ".join(f"{number} {side}" for side, number in report.sides.items() if number)
    out.print(f"{report.a} and {report.b}: {report.compared} entries in common: {counts}", markup=False)
    if not report.entries:
        return
    table = plain_table("line", f"{report.a} plays", f"{report.b} plays", "loss here", "SE", "loss there", "verdict")
    for column in (1, 2, 6):
        table.columns[column].justify = "left"
    for d in report.entries:
        own = "" if d.a_loss is None else f"{d.a_loss:.4f}"
        error = f"{d.a_loss_se:.4f}" if d.a_loss and d.a_loss_se is not None else ""
        other = "" if d.b_loss is None else f"{d.b_loss:.4f}"
        table.add_row(d.path, d.a_play, d.b_play, own, error, other, d.side.value)
    out.print(table)
    out.print(f"\nloss here: of the play of {report.b} by {report.a}; loss there: the other way round", markup=False)


class Asker:
    """Asks questions of a quiz on stderr and reads the answers from stdin, a line each."""

    def __init__(self, book: Book, count: int) -> None:
        self._book = book
        self._count = count
        self._out = Console(stderr=True, highlight=False, emoji=False)

    def __call__(self, number: int, entry: Entry) -> str | None:
        """The answer as it was typed; one that is no legal play is asked for again."""
        from cluster.book.quiz import mark
        from engine.errors import InputError

        spot = entry.spot
        position = spot.under(self._book.stakes)
        self._out.print(f"\nquestion {number} of {self._count}", style="bold")
        self._out.print(board_text(position), markup=False)
        while True:
            self._out.print(f"your play of {spot.dice[0]}-{spot.dice[1]}: ", end="")
            line = sys.stdin.readline()
            if not line or line.strip().lower() in ("q", "quit"):
                return None
            try:
                mark(self._book, entry, line.strip())
            except InputError as error:
                self._out.print(str(error), markup=False)
                continue
            return line.strip()


def tell_answer(entry: Entry, answer: QuizAnswer) -> None:
    """Say on stderr whether an answer was right, and what the plays are worth."""
    out = Console(stderr=True, highlight=False, emoji=False)
    if answer.answer is None:
        verdict = "passed"
    elif answer.standing is Standing.BEST:
        verdict = "right"
    elif answer.loss is None:
        verdict = "the book doesn't list that play"
    else:
        verdict = f"{_STANDINGS[answer.standing or Standing.BEATEN] or 'wrong'}: loses {answer.loss:.4f}"
    out.print(verdict, style="bold")
    for play in entry.plays:
        out.print(f"  {play.play:<26} {play.equity:+.4f}  {play.difference:+.4f}", markup=False)


def show_quiz(report: BookQuizReport) -> None:
    """The score."""
    lost = "" if report.mean_loss is None else f", {1000 * report.mean_loss:.1f} mEq lost on average"
    streak = f", {report.longest_streak} in a row" if report.longest_streak > 1 else ""
    stdout_console().print(f"\n{report.right} of {len(report.questions)} right{streak}{lost}")


def show_export(written: list[Path]) -> None:
    """Where to look."""
    first = next((path for path in written if path.name == "index.html"), written[0])
    more = f" and {len(written) - 1} more files" if len(written) > 1 else ""
    stdout_console().print(f"{first}{more}", markup=False, soft_wrap=True)


def show_comparison(report: BookCompareReport) -> None:
    """A table for each published one, and the named plays."""
    out = stdout_console(_WIDTH)
    for one in report.books:
        show_info(one.book)
        for published in one.tables:
            good = sum(roll.good_there for roll in published.rolls)
            out.print(
                f"\n{published.name} ({published.units}): our best play is its best or loses at most 0.01 there in "
                f"{good} of {len(published.rolls)} rolls",
                style="bold",
                markup=False,
            )
            table = plain_table("roll", "ours", "theirs", "loses here", "SE", "ours loses there", "our bars say")
            for column in (1, 2, 6):
                table.columns[column].justify = "left"
            for roll in published.rolls:
                losses = (_four(roll.loss), _four(roll.loss_se), _four(roll.published_loss))
                table.add_row(roll.roll, roll.play, roll.published_play, *losses, roll.side.value)
            out.print(table)
        for play in one.named:
            where = "not listed" if play.rank is None else f"{play.rank}. best, loses {_four(play.loss)}"
            out.print(f"{play.roll} {play.play}, which the manual names: {where}", markup=False)


def _four(number: float | None) -> str:
    return "" if number is None else f"{number:.4f}"
