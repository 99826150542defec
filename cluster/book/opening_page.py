"""The page `docs/opening-book.md`: what the shipped books say, beside what others have published."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from cluster.book.schemas import (
    BookCompareReport,
    BookComparison,
    BookEntry,
    NamedPlay,
    RollComparison,
    Side,
    Standing,
    TableComparison,
)

_BARS = 1.96
_STANDINGS = {
    Standing.BEST: "best",
    Standing.PLAYABLE: "playable",
    Standing.OPEN: "open",
    Standing.BEATEN: "beaten",
}
_INTRO = """# The shipped opening books beside others

Made by `gammonfarm book compare international tavla --page` from the books and from published tables (`--data`);
run it again when a book grows. How the books are made and read is in [books](books.md).

Values are the mean of the search and the trials, for the player who opens. ± is 1.96 standard errors: of a value that
of the mean; of a loss that of the *simulated* difference, the whole of it, by which verdicts are given too. Errors are
about dice, not about the net. What our bars can say about another play is listed under [comparing](books.md#comparing).
"""


def opening_page(report: BookCompareReport) -> str:
    """The whole page."""
    parts = [_INTRO]
    for book in report.books:
        parts += _book(book)
    parts += _between(report.books)
    return "\n".join(parts)


def _book(one: BookComparison) -> Iterator[str]:
    info = one.book
    entries = " + ".join(f"{count:,}" for count in info.entries)
    verdicts = ", ".join(f"{count:,} {name}" for name, count in info.verdicts.items())
    yield f"## {info.name}\n"
    yield (
        f"{info.identity.words}; net `{info.identity.net}`, seed {info.identity.seed}. "
        f"{entries} entries (openings, replies, ...): {verdicts}. {info.trials:,} trials.\n"
    )
    yield _grid(
        ("roll", "best play", "value", "win %", "gammon %", "next", "loses", "verdict", "trials"),
        (_opening(entry) for entry in one.openings),
    )
    for table in one.tables:
        yield from _table(table, bool(info.identity.cube))
    if one.named:
        yield "Plays that the manual names:\n"
        yield _grid(("roll", "play", "rank here", "loses", "standing"), (_named(play) for play in one.named))


def _opening(entry: BookEntry) -> Sequence[str]:
    best, *rest = entry.plays
    behind = ("", "")
    if rest:
        behind = (rest[0].play, _bar(-rest[0].difference, rest[0].simulation_difference_se))
    p = best.probabilities
    return (
        *("-".join(entry.roll), best.play, _bar(best.equity, best.se, signed=True)),
        *(f"{100 * p.win:.1f}", f"{100 * p.win_gammon:.1f}", *behind, entry.verdict.value, f"{entry.trials:,}"),
    )


def _table(table: TableComparison, with_cube: bool) -> Iterator[str]:
    good, good_there = (sum(getattr(roll, name) for roll in table.rolls) for name in ("good", "good_there"))
    sides = ", ".join(f"{count} {side}" for side, count in table.sides.items() if count)
    yield f"### Beside {table.name}\n"
    note = " The cube makes values and losses larger; ours are without it." if _differs(table, with_cube) else ""
    yield f"{table.source}; {table.units}.{note}\n"
    yield (
        f"Of {len(table.rolls)} rolls, our best play is its best or loses at most 0.01 there in **{good_there}**; its "
        f"best play is ours or loses at most 0.01 here in **{good}**. By roll: {sides}."
    )
    if table.mean_gap is not None:
        yield (
            f"Of {table.plays} other plays that both list, {table.within_bars} lose there what they lose here, within "
            f"our bars; on average they lose {abs(table.mean_gap):.4f} {'more' if table.mean_gap > 0 else 'less'} here."
        )
    yield ""
    yield _grid(
        ("roll", "ours", "theirs", "theirs loses here", "ours loses there", "value here", "there", "our bars say"),
        (_roll(roll) for roll in table.rolls),
    )


def _differs(table: TableComparison, with_cube: bool) -> bool:
    return "with the cube" in table.units and not with_cube


def _roll(roll: RollComparison) -> Sequence[str]:
    same = roll.side is Side.SAME
    loss = "" if same else "not listed" if roll.loss is None else _bar(roll.loss, roll.loss_se or 0.0)
    there = "" if same else "not listed" if roll.published_loss is None else f"{roll.published_loss:.4f}"
    return (
        *("-".join(roll.roll), roll.play, roll.published_play, loss, there, _bar(roll.equity, roll.se, signed=True)),
        *(_there(roll), roll.side.value),
    )


def _there(roll: RollComparison) -> str:
    if roll.published_equity is None:
        return ""
    return f"{roll.published_equity:+.4f}" + (f" ({roll.published_score})" if roll.published_score else "")


def _named(play: NamedPlay) -> Sequence[str]:
    if play.rank is None:
        return ("-".join(play.roll), play.play, "not listed", "", "")
    loss = _bar(play.loss or 0.0, play.loss_se or 0.0) if play.rank > 1 else ""
    standing = "" if play.standing is None else _STANDINGS[play.standing]
    return ("-".join(play.roll), play.play, str(play.rank), loss, standing)


def _between(books: Sequence[BookComparison]) -> Iterator[str]:
    """Where the openings of two books have other best plays."""
    for number, one in enumerate(books):
        for other in books[number + 1 :]:
            theirs = {entry.roll: entry for entry in other.openings}
            common = [(entry, theirs[entry.roll]) for entry in one.openings if entry.roll in theirs]
            rows = [
                ("-".join(a.roll), a.plays[0].play, b.plays[0].play)
                for a, b in common
                if a.plays[0].after != b.plays[0].after
            ]
            yield f"## {one.book.name} and {other.book.name}\n"
            yield f"Of {len(common)} rolls that both begin with, {len(rows)} have other best plays.\n"
            if rows:
                yield _grid(("roll", one.book.name, other.book.name), rows)


def _bar(value: float, se: float, signed: bool = False) -> str:
    return f"{value:{'+' if signed else ''}.4f} ± {_BARS * se:.4f}"


def _grid(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
