"""Board facts: small integers that one wide layer over single places can't see, each one more row of the first layer.

The network looks at *after-positions* in the view of the player who just moved ("mover"); the opponent is on roll.
Most facts are computed for both sides, each in its own numbering; several join two small integers, because the first
layer can't multiply. Value 0 of a fact has no row (the bias holds it), and neither has an empty place, so row 0 of the
table is all zeros and stands for "nothing".
"""

from __future__ import annotations

import numpy as np
from numba import njit

from engine.kernels.bits import count_bits, highest, lowest, other_view
from engine.kernels.board_vectors import (
    CHECKERS,
    CONTACT,
    DEEP,
    TIMING,
    ZONE,
    hits_down,
    hits_up,
    place_masks,
    place_rows,
    side_sums,
)
from engine.kernels.compiled import inlined, kernel

RACE = 0
CLASSES = 19
"""Classes of positions, each with upper layers of its own; see `first_layer_rows`."""
LATE = 10
"""The first of the classes in which most checkers have come round."""
TABLES = 3
"""Tables of the first layer: races, contact, and contact in the late classes."""

PLACE_ROWS = 26 * 31

# Facts of one side, with the number of values of each. "S" is the side, "O" the other; points in S's numbering.
SIDE_FACTS = (
    ("prime_and_block", 56),  # 7 * longest run of made points (0..7) + most made points among six in a row (0..6)
    ("home_points", 192),  # 3 * which of points 1..6 are made + O's checkers on the bar (0, 1, 2 or more)
    ("outer_points", 64),  # which of points 7..12 are made
    ("far_outer_points", 64),  # which of points 13..18
    ("anchors", 192),  # 3 * which of points 19..24 + S's checkers on the bar (0, 1, 2 or more)
    # 10 * rolls (of 36) that hit a blot of O + quarter, rounded up, of those that hit one on S's points 13..24
    ("hitting_rolls", 370),
    # 11 * rolls (of 36) with which S's rearmost checker runs the whole roll past O's points + quarter, rounded up, of
    # one more than those of the next occupied place (0 = there is none)
    ("escapes", 407),
    ("borne_off", 16),
    ("contact_and_timing", 256),  # 16 * checkers yet to pass one of O + sixths of the pips from points 7..18 to the six
    ("zone_and_deep", 256),  # 16 * checkers on points 1..11 + checkers on points 1..3
    ("blots", 168),  # 3 * (7 * S's blots (0..7) + O's made points in O's home) + O's checkers on the bar (0..2)
    ("stacks", 32),  # 4 * points with three checkers or more (0..7) + points with four or more (0..3)
)
SIDE_COUNT = len(SIDE_FACTS)
BOARD_FACTS = (
    ("rear_checkers", 676),  # 26 * place of the mover's rearmost checker + that of the other side's, in its numbering
    ("pips", 1024),  # 8 * mover's pips less the other side's (-64..63, plus 64) + 24ths of the mover's pips (0..7)
)
FACTS = 2 * SIDE_COUNT + len(BOARD_FACTS)
WIDTH = 26 + FACTS
"""Rows a position may need: one a place and one a fact."""
ROW_SPACE = 64
"""Length of an array that holds the rows of a position; those beyond WIDTH stay 0."""


def _starts():
    """int32[FACTS]: the row of value 0 of each fact (never used itself), mover's facts first; and the rows in all."""
    sizes = [size for _, size in SIDE_FACTS] * 2 + [size for _, size in BOARD_FACTS]
    starts = np.cumsum([1 + PLACE_ROWS, *sizes])
    return starts[:-1].astype(np.int32), int(starts[-1])


OFFSETS, ROWS = _starts()


def _escapes():
    """int8[4096]: bit k-1 = the point k pips ahead is held by O; rolls (of 36) that take one checker the full roll."""
    table = np.zeros(4096, dtype=np.int8)
    for mask in range(4096):
        count = 0
        for a in range(1, 7):
            for b in range(1, 7):
                first = not mask >> (a - 1) & 1 or not mask >> (b - 1) & 1
                count += first and not mask >> (a + b - 1) & 1
        table[mask] = count
    return table


ESCAPES = _escapes()

_POINTS = 0x1FFFFFE  # 1..24
_FAR = 0x1FFE000  # 13..24
_NEAR = 0x1FFE  # 1..12
_LAST = 0x7F  # the opponent's bar and his points 19..24
_BAR = 1 << 25

_SIX = 63


def _best_blocks():
    """int8[4096]: most points among six in a row within twelve."""
    return np.array(
        [max((mask >> start & 63).bit_count() for start in range(7)) for mask in range(4096)], dtype=np.int8
    )


BEST_BLOCKS = _best_blocks()


@inlined
def _hits(turned, s1, on_bar, o2, blots):
    """(rolls that hit any blot, rolls that hit a far blot) of 36 for the side with checkers on `s1`.

    By rules a little simpler than the game's: what may move with the second die is the same checker again, anything
    once the bar is empty, or the next one on it.
    """
    if blots == 0:
        return 0, 0
    opened = ~o2 & _POINTS
    bar = 1 if turned else _BAR
    rest = s1 & ~bar
    movers = bar if on_bar else rest
    keep = 0 if on_bar > 1 else -1
    extra = 0 if on_bar == 0 else (rest if on_bar == 1 else bar)
    steps = min(4, max(5 - on_bar, 2)) if on_bar else 4
    if turned:
        return hits_up(movers, extra, keep, steps, opened, blots, blots & _NEAR)
    return hits_down(movers, extra, keep, steps, opened, blots, blots & _FAR)


@inlined
def _longest_run(mask):
    """Most neighbouring bits, at most 7; without branches, which would be mispredicted."""
    length = 0
    for _ in range(7):
        length += mask != 0
        mask &= mask >> 1
    return length


@inlined
def _best_block(made):
    """Most made points among six in a row; bit 0 = point 1."""
    low = BEST_BLOCKS[made & 4095]
    middle = BEST_BLOCKS[(made >> 6) & 4095]
    high = BEST_BLOCKS[(made >> 12) & 4095]
    return np.int64(max(low, middle, high))


@inlined
def _row(start, value):
    """Row of value `value` of the fact whose rows start at `start`."""
    return np.int32(start + value) if value != 0 else np.int32(0)


@inlined
def _side(turned, s1, s2, s3, s4, o1, o2, on_bar, o_on_bar, sums, rows, at):
    """Rows of the facts of one side: of the mover, or (`turned`) of the opponent, whose bar is place 0.

    All masks are in the mover's numbering (1: any checker ... 4: four or more); `sums` from `side_sums`.
    """
    if turned:
        rear = lowest(s1)
        behind = s1 & (s1 - 1)
        second = lowest(behind)
        ahead = o2 & _POINTS
        escape = np.int64(ESCAPES[(ahead >> (rear + 1)) & 4095])
        escape_second = np.int64(ESCAPES[(ahead >> (second + 1)) & 4095]) + 1 if behind else 0
    else:
        # Points ahead of a checker are lower ones: from the other side's numbering they come in order.
        ahead = other_view(o2 & _POINTS)
        rear = highest(s1)
        behind = s1 & ~(1 << rear)
        second = highest(behind)
        escape = np.int64(ESCAPES[(ahead >> (26 - rear)) & 4095])
        escape_second = np.int64(ESCAPES[(ahead >> (26 - second)) & 4095]) + 1 if behind else 0
    hits, far_hits = _hits(turned, s1, on_bar, o2, o1 & ~o2 & _POINTS)
    made = (s2 & _POINTS) >> 1
    low, next_low, next_high, high = made & _SIX, (made >> 6) & _SIX, (made >> 12) & _SIX, made >> 18
    home, outer, far_outer, anchors = (high, next_high, next_low, low) if turned else (low, next_low, next_high, high)
    o_made = (o2 & _POINTS) >> 1
    o_home = count_bits(o_made & _SIX if turned else o_made >> 18)
    bar = min(on_bar, 2)
    o_bar = min(o_on_bar, 2)
    blots = min(count_bits(s1 & ~s2 & _POINTS), 7)
    stacks = min(count_bits(s3 & _POINTS), 7) * 4 + min(count_bits(s4 & _POINTS), 3)
    timing = min(((sums >> TIMING) & 127) // 3, 15)
    rows[at] = _row(OFFSETS[at - 26], _longest_run(made) * 7 + _best_block(made))
    rows[at + 1] = _row(OFFSETS[at - 25], home * 3 + o_bar)
    rows[at + 2] = _row(OFFSETS[at - 24], outer)
    rows[at + 3] = _row(OFFSETS[at - 23], far_outer)
    rows[at + 4] = _row(OFFSETS[at - 22], anchors * 3 + bar)
    rows[at + 5] = _row(OFFSETS[at - 21], hits * 10 + (far_hits + 3) // 4)
    rows[at + 6] = _row(OFFSETS[at - 20], escape * 11 + (escape_second + 3) // 4)
    rows[at + 7] = _row(OFFSETS[at - 19], 15 - ((sums >> CHECKERS) & 15))
    rows[at + 8] = _row(OFFSETS[at - 18], ((sums >> CONTACT) & 15) * 16 + timing)
    rows[at + 9] = _row(OFFSETS[at - 17], ((sums >> ZONE) & 15) * 16 + ((sums >> DEEP) & 15))
    rows[at + 10] = _row(OFFSETS[at - 16], (blots * 7 + o_home) * 3 + o_bar)
    rows[at + 11] = _row(OFFSETS[at - 15], stacks)


@kernel
def first_layer_rows(board, rows):
    """The rows of an after-position, first its places, then its facts; and what else the network has to know of it.

    Args:
        board: int8[26], the view of the player who just moved. rows: int32[ROW_SPACE], out, 0 for nothing; left as it
            is if the mover has no checker on the board.

    Returns:
        (class, own, opponent): the class of position, and the checkers that both sides have left on the board. Class 0,
        `RACE`: no checker has an opposing one in front of it. Others: 1, and 1 more if the mover has a checker on his
        points 19..24, 2 if on the bar; 3 more if the other side has one on its points 19..24, 6 if on the bar; 9 more
        if 22 checkers or more are on their sides' points 1..11 (`LATE` and beyond).
    """
    own1, own2, own3, own4, opp1, opp2, opp3, opp4 = place_masks(board)
    front_own = lowest(opp1)  # own checkers above this place still have contact
    front_opp = highest(own1)  # opposing checkers below this place still have contact
    own, opp = side_sums(board, front_own, front_opp)
    own_left = (own >> CHECKERS) & 15
    opp_left = (opp >> CHECKERS) & 15
    if own_left == 0:
        return RACE, own_left, opp_left
    place_rows(board, rows)
    own_bar = np.int64(board[25])
    opp_bar = -np.int64(board[0])
    _side(False, own1, own2, own3, own4, opp1, opp2, own_bar, opp_bar, own, rows, 26)
    _side(True, opp1, opp2, opp3, opp4, own1, own2, opp_bar, own_bar, opp, rows, 26 + SIDE_COUNT)
    at = 2 * SIDE_COUNT
    own_pips = own & 511
    difference = min(max(own_pips - (opp & 511) + 64, 0), 127)
    rows[26 + at] = _row(OFFSETS[at], front_opp * 26 + (25 - front_own if opp1 else 0))
    rows[26 + at + 1] = _row(OFFSETS[at + 1], difference * 8 + min(own_pips // 24, 7))
    if front_opp < front_own:
        return RACE, own_left, opp_left
    own_back = (own1 >> 19 != 0) + (own_bar != 0)
    opp_back = (opp1 & _LAST != 0) + (opp_bar != 0)
    c = 1 + own_back + 3 * opp_back + 9 * (((own >> ZONE) & 15) + ((opp >> ZONE) & 15) >= 22)
    return c, own_left, opp_left


@inlined
def table_of(c):
    """Index of the first layer's table for a class of position."""
    return np.int64(c > RACE) + np.int64(c >= LATE)


@inlined
def place_row(place, count):
    """Row of the table for a signed checker count on a place; an empty place has none (row 0)."""
    return np.int32(1 + place * 31 + count + 15) if count != 0 else np.int32(0)


@njit(cache=True, nogil=True)
def rows_of(boards, rows, classes):
    """First-layer rows and classes (see `first_layer_rows`) of many after-positions.

    Args:
        boards: int8[N, 26], view of the player who just moved. rows: int32[N, WIDTH], out. classes: int64[N], out.
    """
    space = np.zeros(ROW_SPACE, dtype=np.int32)
    for i in range(boards.shape[0]):
        classes[i], _, _ = first_layer_rows(boards[i], space)
        for k in range(WIDTH):
            rows[i, k] = space[k]
