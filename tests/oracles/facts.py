"""Board facts and first-layer rows the plain way: lists of counts, loops, and every roll tried.

Boards are 26 signed counts from the view of the player who just moved. Shares no code with `engine`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

BAR = 25
ROLLS = [(a, b) for a in range(1, 7) for b in range(1, 7)]

SIDE_FACTS = [
    ("escape_rear", 37),
    ("escape_second", 38),
    ("hitting_rolls", 37),
    ("far_hitting_rolls", 37),
    ("prime_and_block", 56),
    ("home_points", 64),
    ("outer_points", 64),
    ("far_outer_points", 64),
    ("anchors", 64),
    ("borne_off", 16),
    ("contact_checkers", 16),
    ("timing", 32),
    ("fifths_of_pips", 64),
    ("zone", 16),
    ("entering", 28),
    ("blots", 24),
    ("deep_checkers", 16),
]
PIP_DIFFERENCE_VALUES = 128
PLACE_ROWS = 26 * 31
ROWS = 1 + PLACE_ROWS + 2 * sum(size for _, size in SIDE_FACTS) + PIP_DIFFERENCE_VALUES

Counts = Sequence[int]


def sides(board: Iterable[int]) -> tuple[list[int], list[int]]:
    """(the mover's checkers, the opponent's checkers) on each of the mover's 26 places."""
    signed = [int(count) for count in board]
    return [max(count, 0) for count in signed], [max(-count, 0) for count in signed]


def pips(own: Counts) -> int:
    """Pips that a side needs, its places numbered as its own."""
    return sum(place * count for place, count in enumerate(own))


def held(other: Counts, place: int) -> bool:
    """Whether the other side has made the point; there is nothing to hold beyond the board."""
    return 1 <= place <= 24 and other[place] >= 2


def escapes(place: int, other: Counts) -> int:
    """Rolls of 36 with which a checker goes on by both dice, landing in between on a free point. Doubles count twice
    their die only."""
    return sum(
        not held(other, place - a - b) and not (held(other, place - a) and held(other, place - b)) for a, b in ROLLS
    )


def reached(own: Counts, other: Counts, a: int, b: int) -> set[int]:
    """Points on which a roll can land a checker, by rules a little simpler than the game's.

    From the bar first. With one checker there, the other die moves the one that entered or any other. With two or more,
    the other die must enter the next one; after that, doubles only move on the checkers that entered last, one step
    when there were two on the bar, none when there were more. With an empty bar one checker makes all steps.
    """
    points = {place for place in range(1, 25) if own[place]}
    on_bar = own[BAR]

    def step(places: set[int], die: int) -> set[int]:
        return {place - die for place in places if place - die >= 1 and not held(other, place - die)}

    def after(landed: set[int]) -> set[int]:
        if not landed:
            return set()
        return {0: landed, 1: landed | points}.get(on_bar, {BAR})

    first_movers = {BAR} if on_bar else points
    if a != b:
        by_a, by_b = step(first_movers, a), step(first_movers, b)
        return by_a | by_b | step(after(by_a), b) | step(after(by_b), a)
    landed = step(first_movers, a)
    found = set(landed)
    places = after(landed)
    for _ in range({0: 3, 1: 3, 2: 2}.get(on_bar, 1)):
        places = step(places, a)
        found |= places
    return found


def hits(own: Counts, other: Counts, from_point: int) -> int:
    """Rolls of 36 that reach a blot of the other side on `from_point` or beyond."""
    blots = {place for place in range(from_point, 25) if other[place] == 1}
    return sum(bool(reached(own, other, a, b) & blots) for a, b in ROLLS)


def longest_run(made: Sequence[bool]) -> int:
    """Most points in a row."""
    best = run = 0
    for one in made:
        run = run + 1 if one else 0
        best = max(best, run)
    return best


def side_facts(own: Counts, other: Counts) -> list[int]:
    """Facts of one side: its own and the other's checkers on the side's own places (25 = its bar, 0 = the other's)."""
    occupied = [place for place in range(25, 0, -1) if own[place]]
    made = [own[point] >= 2 for point in range(1, 25)]
    block = max(sum(made[start : start + 6]) for start in range(19))
    foremost_of_other = min(place for place in range(26) if other[place])

    def set_of_points(first: int) -> int:
        return sum(1 << i for i in range(6) if own[first + i] >= 2)

    blots = sum(own[point] == 1 for point in range(1, 25))
    facts = {
        "escape_rear": escapes(occupied[0], other),
        "escape_second": escapes(occupied[1], other) + 1 if len(occupied) > 1 else 0,
        "hitting_rolls": hits(own, other, 1),
        "far_hitting_rolls": hits(own, other, 13),
        "prime_and_block": min(longest_run(made), 7) * 7 + block,
        "home_points": set_of_points(1),
        "outer_points": set_of_points(7),
        "far_outer_points": set_of_points(13),
        "anchors": set_of_points(19),
        "borne_off": 15 - sum(own),
        "contact_checkers": sum(own[place] for place in range(26) if place > foremost_of_other),
        "timing": min(sum(own[point] * (point - 6) for point in range(7, 19)) // 3, 31),
        "fifths_of_pips": min(pips(own) // 5, 63),
        "zone": sum(own[1:12]),
        "entering": min(own[BAR], 3) * 7 + sum(other[point] >= 2 for point in range(19, 25)),
        "blots": min(blots, 7) * 3 + min(other[0], 2),
        "deep_checkers": sum(own[1:4]),
    }
    return [facts[name] for name, _ in SIDE_FACTS]


def board_facts(board: Iterable[int]) -> list[int]:
    """All facts: the mover's, the opponent's, and the difference of their pips."""
    own, other = sides(board)
    own_turned, other_turned = own[::-1], other[::-1]
    difference = pips(own) - pips(other_turned)
    return [
        *side_facts(own, other),
        *side_facts(other_turned, own_turned),
        min(max(difference + 64, 1), PIP_DIFFERENCE_VALUES - 1),
    ]


def is_race(board: Iterable[int]) -> bool:
    """Whether all checkers have passed those of the other side."""
    own, other = sides(board)
    return not any(own[a] and other[b] for a in range(26) for b in range(a))


def rows(board: Iterable[int]) -> list[int]:
    """Row of the first layer's table for each place and each fact; 0 where there is nothing."""
    signed = [int(count) for count in board]
    chosen = [1 + place * 31 + count + 15 if count else 0 for place, count in enumerate(signed)]
    start = 1 + PLACE_ROWS
    sizes = [size for _, size in SIDE_FACTS] * 2 + [PIP_DIFFERENCE_VALUES]
    for value, size in zip(board_facts(signed), sizes, strict=True):
        chosen.append(start + value if value else 0)
        start += size
    return chosen
