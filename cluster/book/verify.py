"""Checking a book: its numbers from its exact sums, and entries from nothing, bit for bit; and merging books."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Sequence

from cluster.book.artifact import Book, check_same_identity
from cluster.book.build import compute_entry
from cluster.book.entry import Entry, values_of
from cluster.book.schemas import BookIdentity, BookMergeReport, BookVerifyReport, EntryCheck
from cluster.book.simulation import Simulator
from cluster.book.stakes import Seat, stakes_of
from cluster.book.tree import parse_line, parse_roll, played
from engine.board import flip
from engine.errors import InputError
from engine.evaluator import Nets
from engine.gnuid import format_position_id
from engine.notation import format_play
from engine.rollout import RESULT_VERSION

_ID = re.compile(r"([A-Za-z0-9+/]{14}):([1-6]{2})(?::([12]))?")

OnChecked = Callable[[int, int], None]
"""(entries recomputed, entries to recompute)"""


def find_entry(book: Book, text: str) -> Entry:
    """The entry that a user names: its id `4HPwATDgc/ABMA:31`, or its line `31 8/5 6/5 64`.

    Raises:
        InputError: malformed, an illegal play, or an entry that the book doesn't have.
    """
    stakes = book.stakes
    named = _ID.fullmatch(text.strip())
    if named is not None:
        position, dice, seat = named[1], parse_roll(named[2]), Seat(int(named[3] or 0))
    else:
        *moves, last = parse_line(text)
        if last[0] is None or last[1] is not None:
            raise InputError("entry", text, "an id, or a line that ends with a roll, as in 31 8/5 6/5 64")
        board, dice, seat = stakes.rules.start.board, last[0], stakes.first
        for number, (made, play) in enumerate(moves):
            board, seat = played(board, made, play or "", stakes.rules, first=number == 0), seat.other
        position = format_position_id(board)
    found = book.entry(position, dice, seat)
    if found is None:
        raise InputError("entry", text, f"an entry of {book.path.name}")
    return found


def chosen_entries(book: Book, sample: int, seed: int) -> list[Entry]:
    """So many entries by chance, in the order of the book.

    Raises:
        InputError: an empty book.
    """
    entries = list(book.entries())
    if not entries:
        raise InputError("book", book.path, "a book with entries")
    numbers = sorted(random.Random(seed).sample(range(len(entries)), min(sample, len(entries))))
    return [entries[number] for number in numbers]


def check_nets(identity: BookIdentity, nets: Nets) -> None:
    """
    Raises:
        InputError: these are not the nets, or this is not the version, that made the book; says where to find them.
    """
    main, _, filter_net = identity.net.partition("-")
    where = "of the gammonfarm that the book came with, in engine/nets"
    if nets.main.digest != main:
        raise InputError("net", nets.main.digest, f"main net {main}, which made the book: --net FILE, {where}")
    own_filter = nets.digest.partition("-")[2]
    if own_filter != filter_net:
        problem = f"filter net {filter_net}, which made the book: --filter-net FILE, {where}"
        raise InputError("filter net", own_filter, problem)
    if identity.result_version != RESULT_VERSION:
        raise InputError("book", f"result version {identity.result_version}", f"a book of version {RESULT_VERSION}")
    stakes = stakes_of(identity).cube
    if identity.stakes != (stakes.digest if stakes is not None else None):
        raise InputError(
            "book", f"stakes {identity.stakes}", "a book whose match equity table and efficiencies these are"
        )


def verify(
    book: Book, entries: Sequence[Entry], simulator: Callable[[], Simulator] | None, on_checked: OnChecked
) -> BookVerifyReport:
    """Check the arithmetic of all entries, and make some again from nothing.

    Args:
        entries: those to make again.
        simulator: called if there are any; its store must know none of the trials, or it proves nothing.
    """
    checks = [check_arithmetic(book, entry) for entry in book.entries()]
    recomputed = []
    if entries and simulator is not None:
        made = simulator()
        for number, entry in enumerate(entries):
            on_checked(number, len(entries))
            recomputed.append(recompute(entry, made))
        on_checked(len(entries), len(entries))
    wrong = tuple(check for check in checks if not check.ok)
    return BookVerifyReport(
        book=book.info(),
        digest=book.digest(),
        ok=not wrong and all(check.ok for check in recomputed),
        arithmetic=len(checks),
        recomputed=tuple(recomputed),
        wrong=wrong,
    )


def check_arithmetic(book: Book, entry: Entry) -> EntryCheck:
    """Whether the numbers and the verdict of an entry follow from its exact sums, and its plays are legal."""
    differs: list[str] = []
    plays, verdict = values_of(entry.facts, book.identity)
    if verdict is not entry.verdict:
        differs.append("verdict")
    for stored, made, facts in zip(entry.plays, plays, entry.facts, strict=True):
        fields = type(stored).model_fields
        differs += [f"{stored.play}: {name}" for name in fields if getattr(stored, name) != getattr(made, name)]
        if facts.pair is not None and facts.pair.trials > facts.tally.trials:
            differs.append(f"{stored.play}: pair")
        if not _is_legal(book, entry, stored.play, stored.after):
            differs.append(f"{stored.play}: after")
    return EntryCheck(id=entry.spot.id, path=entry.spot.path, ok=not differs, differs=tuple(differs))


def _is_legal(book: Book, entry: Entry, play: str, after: str) -> bool:
    rules, board = book.stakes.rules, entry.spot.board
    try:
        reached = played(board, entry.spot.dice, play, rules)
        named = format_play(board, flip(reached), entry.spot.dice, rules)
    except InputError:
        return False
    return format_position_id(reached) == after and named == play


def recompute(entry: Entry, simulator: Simulator) -> EntryCheck:
    """Whether search and trials give this entry, to the last bit."""
    made = compute_entry(simulator, entry.spot, entry.question)
    differs: list[str] = []
    if made.verdict is not entry.verdict:
        differs.append("verdict")
    if [play.play for play in made.plays] != [play.play for play in entry.plays]:
        differs.append("plays")
    else:
        for old, new, old_facts, new_facts in zip(entry.plays, made.plays, entry.facts, made.facts, strict=True):
            fields = type(old).model_fields
            differs += [f"{old.play}: {name}" for name in fields if getattr(old, name) != getattr(new, name)]
            if old_facts.rows != new_facts.rows:
                differs.append(f"{old.play}: trials")
    if not differs and made.content() != entry.content():
        differs.append("sums")
    return EntryCheck(id=entry.spot.id, path=entry.spot.path, ok=not differs, differs=tuple(differs))


def merge(target: Book, sources: Iterable[Book]) -> BookMergeReport:
    """Take over what other books have more of; of the same entry, more trials win.

    Raises:
        InputError: another identity, or the same question with other bits (one of both files is damaged).
    """
    added = replaced = 0
    for source in sources:
        check_same_identity(source, target.identity)
        for entry in source.entries():
            known = target.entry(entry.spot.position, entry.spot.dice, entry.spot.seat)
            if known is None:
                target.put(entry)
                added += 1
                continue
            if known.question == entry.question and known.content() != entry.content():
                problem = f"the same bits as {target.path.name} for {entry.spot.path}: one of both is damaged (verify)"
                raise InputError("book", source.path, problem)
            if _weight(entry) > _weight(known):
                target.put(entry)
                replaced += 1
    return BookMergeReport(book=target.info(), digest=target.digest(), added=added, replaced=replaced)


def _weight(entry: Entry) -> tuple[int, int, float, int, str]:
    """Which of two entries is kept: a total order, so that books merge to the same whatever the order."""
    asked = entry.question
    return entry.trials, asked.trials, asked.margin, asked.most, entry.content()
