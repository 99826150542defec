"""Board facts: small integers that one wide layer over single places can't see, each one more row of the first layer.

The network looks at *after-positions* in the view of the player who just moved ("mover"); the opponent is on roll.
Every fact is computed for both sides, each in its own numbering. Value 0 of a fact has no row (the bias holds it),
and neither has an empty place, so row 0 of the table is all zeros and stands for "nothing".
"""

from __future__ import annotations

import numpy as np
from numba import njit

from engine.kernels.bits import count_bits, highest, lowest, other_view

PLACE_ROWS = 26 * 31

# Facts of one side, with the number of values of each. "S" is the side, "O" the other; points in S's numbering.
SIDE_FACTS = (
    ("escape_rear", 37),  # rolls (of 36) with which S's rearmost checker runs the whole roll past O's points
    ("escape_second", 38),  # the same for the next occupied point, plus one; 0 = there is none
    ("hitting_rolls", 37),  # rolls that hit a blot of O
    ("far_hitting_rolls", 37),  # rolls that hit a blot of O on S's points 13..24 (it loses 13 pips or more)
    ("prime_and_block", 56),  # longest run of made points (0..7) and most made points among six in a row (0..6)
    ("home_points", 64),  # which of points 1..6 are made
    ("outer_points", 64),  # which of points 7..12
    ("far_outer_points", 64),  # which of points 13..18
    ("anchors", 64),  # which of points 19..24
    ("borne_off", 16),
    ("contact_checkers", 16),  # checkers that have yet to pass a checker of O
    ("timing", 32),  # thirds of the pips from points 7..18 down to the six point
    ("fifths_of_pips", 64),
    ("zone", 16),  # checkers on points 1..11
    ("entering", 28),  # checkers on S's bar (0..3) and made points in O's home (0..6)
    ("blots", 24),  # S's blots (0..7) and whether O has checkers on the bar (0, 1, 2 or more)
    ("deep_checkers", 16),  # checkers on points 1..3
)
SIDE_COUNT = len(SIDE_FACTS)
PIP_DIFFERENCE_VALUES = 128
FACTS = 2 * SIDE_COUNT + 1
WIDTH = 26 + FACTS
"""Rows a position may need: one a place and one a fact."""


def _offsets():
    """int64[FACTS]: the row of value 0 of each fact (never used itself), mover's facts first, then the other side's."""
    sizes = [size for _, size in SIDE_FACTS] * 2 + [PIP_DIFFERENCE_VALUES]
    starts = np.cumsum([1 + PLACE_ROWS, *sizes])
    return starts[:-1].astype(np.int64), int(starts[-1])


OFFSETS, ROWS = _offsets()


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

_PAIRS = [(a, b) for a in range(1, 7) for b in range(1, a)]
FIRST_DIE = np.array([a for a, _ in _PAIRS], dtype=np.int32)
SECOND_DIE = np.array([b for _, b in _PAIRS], dtype=np.int32)

_POINTS = 0x1FFFFFE  # 1..24
_FAR = 0x1FFE000  # 13..24
_BAR = 1 << 25


@njit
def masks_of(board):
    """(own, own made, opponent's, opponent's made) places of a board as bit masks in the mover's numbering."""
    own1 = np.int32(0)
    own2 = np.int32(0)
    opp1 = np.int32(0)
    opp2 = np.int32(0)
    one = np.int32(1)
    for place in range(26):
        count = board[place]
        bit = one << np.int32(place)
        own1 |= bit if count > 0 else np.int32(0)
        own2 |= bit if count > 1 else np.int32(0)
        opp1 |= bit if count < 0 else np.int32(0)
        opp2 |= bit if count < -1 else np.int32(0)
    return np.int64(own1), np.int64(own2), np.int64(opp1), np.int64(opp2)


@njit
def hitting_rolls(s1, on_bar, o2, blots):
    """(rolls that hit any blot, rolls that hit a far blot) of 36 for the side with checkers on `s1`."""
    if blots == 0:
        return 0, 0
    opened = np.int32(~o2 & _POINTS)
    target = np.int32(blots)
    far = np.int32(blots & _FAR)
    rest = np.int32(s1 & ~_BAR)
    zero = np.int32(0)
    movers = np.int32(_BAR) if on_bar else rest
    # What may move with the second die: the same checker again, anything once the bar is empty, or the next one on it.
    keep = zero if on_bar > 1 else np.int32(-1)
    extra = zero if on_bar == 0 else (rest if on_bar == 1 else np.int32(_BAR))
    hits = np.int32(0)
    far_hits = np.int32(0)
    for i in range(15):
        a = FIRST_DIE[i]
        b = SECOND_DIE[i]
        ra = (movers >> a) & opened
        rb = (movers >> b) & opened
        sa = (ra & keep) | (extra if ra != 0 else zero)
        sb = (rb & keep) | (extra if rb != 0 else zero)
        reached = ra | rb | ((sa >> b) & opened) | ((sb >> a) & opened)
        hits += np.int32(2) if reached & target != 0 else zero
        far_hits += np.int32(2) if reached & far != 0 else zero
    for die in range(1, 7):
        r1 = (movers >> np.int32(die)) & opened
        s = (r1 & keep) | (extra if r1 != 0 else zero)
        r2 = (s >> np.int32(die)) & opened
        r3 = (r2 >> np.int32(die)) & opened
        r4 = (r3 >> np.int32(die)) & opened
        reached = r1 | r2 | (r3 if on_bar < 3 else zero) | (r4 if on_bar < 2 else zero)
        hits += np.int32(1) if reached & target != 0 else zero
        far_hits += np.int32(1) if reached & far != 0 else zero
    return np.int64(hits), np.int64(far_hits)


@njit(inline="always")
def _longest_run(mask):
    length = 0
    while mask:
        mask &= mask >> 1
        length += 1
    return length


@njit(inline="always")
def _best_block(mask):
    """Most made points among six in a row within 1..24."""
    best = 0
    points = mask & _POINTS
    # Sums of bits over a window of six, for all windows at once, would need wider lanes; 19 popcounts are cheap.
    for start in range(1, 20):
        inside = count_bits((points >> start) & 63)
        if inside > best:
            best = inside
    return best


@njit(inline="always")
def _escape(place, o2_other_view):
    return ESCAPES[(o2_other_view >> (26 - place)) & 4095]


@njit(inline="always")
def _side(s1, s2, o1, o2, o2_other_view, on_bar, o_on_bar, sums, facts, at):
    """Facts of one side; masks in its own numbering, `sums` = pips, checkers, timing, zone, deep, contact checkers."""
    rear = highest(s1)
    facts[at] = _escape(rear, o2_other_view) if rear > 0 else 0
    second = highest(s1 & ~(1 << rear))
    facts[at + 1] = _escape(second, o2_other_view) + 1 if second > 0 else 0
    blots = o1 & ~o2 & _POINTS
    hits, far_hits = hitting_rolls(s1, on_bar, o2, blots)
    facts[at + 2] = hits
    facts[at + 3] = far_hits
    made = s2 & _POINTS
    facts[at + 4] = min(_longest_run(made), 7) * 7 + _best_block(made)
    facts[at + 5] = (made >> 1) & 63
    facts[at + 6] = (made >> 7) & 63
    facts[at + 7] = (made >> 13) & 63
    facts[at + 8] = (made >> 19) & 63
    facts[at + 9] = 15 - sums[1]
    facts[at + 10] = sums[5]
    facts[at + 11] = min(sums[2] // 3, 31)
    facts[at + 12] = min(sums[0] // 5, 63)
    facts[at + 13] = sums[3]
    facts[at + 14] = min(on_bar, 3) * 7 + count_bits((o2 >> 19) & 63)
    own_blots = min(count_bits(s1 & ~s2 & _POINTS), 7)
    facts[at + 15] = own_blots * 3 + min(o_on_bar, 2)
    facts[at + 16] = sums[4]


@njit
def board_facts(board, sums, facts):
    """All facts of an after-position, and its class.

    Args:
        board: int8[26], the view of the player who just moved. sums: int64[2, 6], scratch. facts: int64[FACTS], out.

    Returns:
        True for a race (no checker has an opposing one in front of it).
    """
    own1, own2, opp1, opp2 = masks_of(board)
    front_own = lowest(opp1)  # own checkers above this place still have contact
    front_opp = highest(own1)  # opposing checkers below this place still have contact
    own_pips = 0
    own_n = 0
    own_timing = 0
    own_zone = 0
    own_deep = 0
    own_contact = 0
    opp_pips = 0
    opp_n = 0
    opp_timing = 0
    opp_zone = 0
    opp_deep = 0
    opp_contact = 0
    for place in range(26):
        count = np.int64(board[place])
        mine = max(count, 0)
        his = max(-count, 0)
        back = 25 - place
        own_pips += mine * place
        own_n += mine
        own_timing += mine * (place - 6) if 6 < place < 19 else 0
        own_zone += mine if 0 < place < 12 else 0
        own_deep += mine if place < 4 else 0
        own_contact += mine if place > front_own else 0
        opp_pips += his * back
        opp_n += his
        opp_timing += his * (back - 6) if 6 < back < 19 else 0
        opp_zone += his if 0 < back < 12 else 0
        opp_deep += his if back < 4 else 0
        opp_contact += his if place < front_opp else 0
    own = sums[0]
    own[0], own[1], own[2], own[3], own[4], own[5] = own_pips, own_n, own_timing, own_zone, own_deep, own_contact
    opp = sums[1]
    opp[0], opp[1], opp[2], opp[3], opp[4], opp[5] = opp_pips, opp_n, opp_timing, opp_zone, opp_deep, opp_contact
    own1_other = other_view(own1)
    own2_other = other_view(own2)
    opp1_other = other_view(opp1)
    opp2_other = other_view(opp2)
    own_bar = np.int64(board[25])
    opp_bar = -np.int64(board[0])
    _side(own1, own2, opp1, opp2, opp2_other & _POINTS, own_bar, opp_bar, own, facts, 0)
    _side(opp1_other, opp2_other, own1_other, own2_other, own2 & _POINTS, opp_bar, own_bar, opp, facts, SIDE_COUNT)
    facts[2 * SIDE_COUNT] = min(max(own_pips - opp_pips + 64, 1), 127)
    return front_opp < front_own


@njit(inline="always")
def place_row(place, count):
    """Row of the table for a signed checker count on a place; an empty place has none (row 0)."""
    return 1 + place * 31 + count + 15 if count != 0 else 0


@njit(inline="always")
def fact_row(fact, value):
    """Row of the table for a value of a fact; value 0 has none (row 0)."""
    return OFFSETS[fact] + value if value != 0 else 0


@njit(cache=True, nogil=True)
def rows_of(boards, rows, races):
    """First-layer rows of many after-positions.

    Args:
        boards: int8[N, 26], view of the player who just moved. rows: int32[N, WIDTH], out. races: bool[N], out.
    """
    facts = np.zeros(FACTS, dtype=np.int64)
    sums = np.zeros((2, 6), dtype=np.int64)
    for i in range(boards.shape[0]):
        races[i] = board_facts(boards[i], sums, facts)
        for place in range(26):
            rows[i, place] = place_row(place, boards[i, place])
        for fact in range(FACTS):
            rows[i, 26 + fact] = fact_row(fact, facts[fact])
