"""Board facts and first-layer rows the plain way: lists of counts, loops, and every roll tried.

Boards are 26 signed counts from the view of the player who just moved. Shares no code with `engine`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

BAR = 25
ROLLS = [(a, b) for a in range(1, 7) for b in range(1, 7)]

SIDE_FACTS = [
    ("prime_and_block", 56),
    ("home_points", 192),
    ("outer_points", 64),
    ("far_outer_points", 64),
    ("anchors", 192),
    ("hitting_rolls", 370),
    ("escapes", 407),
    ("borne_off", 16),
    ("contact_and_timing", 256),
    ("zone_and_deep", 256),
    ("blots", 168),
    ("stacks", 32),
]
BOARD_FACTS = [("rear_checkers", 676), ("pips", 1024)]
PLACE_ROWS = 26 * 31
ROWS = 1 + PLACE_ROWS + 2 * sum(size for _, size in SIDE_FACTS) + sum(size for _, size in BOARD_FACTS)

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


def side_facts(own: Counts, other: Counts, turned: bool) -> list[int]:
    """Facts of one side: its own and the other's checkers on the side's own places (25 = its bar, 0 = the other's).

    `turned`: it is the opponent of the board's mover; bit 0 of a set of points is then the highest of them, so that the
    bits of both sides run along the board.
    """
    occupied = [place for place in range(25, 0, -1) if own[place]]
    made = [own[point] >= 2 for point in range(1, 25)]
    block = max(sum(made[start : start + 6]) for start in range(19))
    foremost_of_other = min(place for place in range(26) if other[place])

    def set_of_points(first: int) -> int:
        points = range(first + 5, first - 1, -1) if turned else range(first, first + 6)
        return sum(1 << i for i, point in enumerate(points) if own[point] >= 2)

    def points_with(checkers: int) -> int:
        return sum(own[point] >= checkers for point in range(1, 25))

    first_escape = escapes(occupied[0], other)
    second_escape = escapes(occupied[1], other) + 1 if len(occupied) > 1 else 0
    contact = sum(own[place] for place in range(26) if place > foremost_of_other)
    half_pips = sum(own[point] * ((point - 5) // 2) for point in range(7, 19))
    blots = min(sum(own[point] == 1 for point in range(1, 25)), 7)
    other_home = sum(other[point] >= 2 for point in range(19, 25))
    bar, other_bar = min(own[BAR], 2), min(other[0], 2)
    facts = {
        "prime_and_block": min(longest_run(made), 7) * 7 + block,
        "home_points": 3 * set_of_points(1) + other_bar,
        "outer_points": set_of_points(7),
        "far_outer_points": set_of_points(13),
        "anchors": 3 * set_of_points(19) + bar,
        "hitting_rolls": 10 * hits(own, other, 1) + -(-hits(own, other, 13) // 4),
        "escapes": 11 * first_escape + -(-second_escape // 4),
        "borne_off": 15 - sum(own),
        "contact_and_timing": 16 * contact + min(half_pips // 3, 15),
        "zone_and_deep": 16 * sum(own[1:12]) + sum(own[1:4]),
        "blots": 3 * (7 * blots + other_home) + other_bar,
        "stacks": 4 * min(points_with(3), 7) + min(points_with(4), 3),
    }
    return [facts[name] for name, _ in SIDE_FACTS]


def board_facts(board: Iterable[int]) -> list[int]:
    """All facts: the mover's, the opponent's, and those of the board."""
    own, other = sides(board)
    own_turned, other_turned = own[::-1], other[::-1]
    difference = pips(own) - pips(other_turned)
    rear = [max(place for place in range(26) if side[place]) for side in (own, other_turned)]
    return [
        *side_facts(own, other, False),
        *side_facts(other_turned, own_turned, True),
        26 * rear[0] + rear[1],
        8 * min(max(difference + 64, 0), 127) + min(pips(own) // 24, 7),
    ]


def is_race(board: Iterable[int]) -> bool:
    """Whether all checkers have passed those of the other side."""
    own, other = sides(board)
    return not any(own[a] and other[b] for a in range(26) for b in range(a))


def position_class(board: Iterable[int]) -> int:
    """0 for a race; else 1 to 18, by who has checkers far behind or on the bar and whether most have come round."""
    if is_race(board):
        return 0
    own, other = sides(board)
    zone = sum(own[1:12]) + sum(other[::-1][1:12])
    own_back = 2 if own[25] else 1 if sum(own[19:25]) else 0
    other_back = 2 if other[0] else 1 if sum(other[1:7]) else 0
    return 1 + own_back + 3 * other_back + (9 if zone >= 22 else 0)


def rows(board: Iterable[int]) -> list[int]:
    """Row of the first layer's table for each place and each fact; 0 where there is nothing."""
    signed = [int(count) for count in board]
    chosen = [1 + place * 31 + count + 15 if count else 0 for place, count in enumerate(signed)]
    start = 1 + PLACE_ROWS
    sizes = [size for _, size in SIDE_FACTS] * 2 + [size for _, size in BOARD_FACTS]
    for value, size in zip(board_facts(signed), sizes, strict=True):
        chosen.append(start + value if value else 0)
        start += size
    return chosen
