"""Building the bear-off databases: every position from those with a smaller index.

Here a side's checkers are one packed int64: four bits a point, point 1 lowest. While a side bears off without contact,
every die can be played until no checker is left, so its plays need no rule about unused dice.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from engine.kernels.bearoff import (
    CENTRED,
    CERTAIN,
    CUBE_STATES,
    CUBELESS,
    FIRST_OF_FIFTEEN,
    HOME_POINTS,
    MEAN_BITS,
    OPPONENT_OWNS,
    OWNED,
    TERMS,
    best_cube_action,
)

MOST_ROLLS = 45
"""Every roll plays at least two pips or bears off the rest, and 15 checkers in their home have 90 at most."""
MAX_BEAR_OFF_PLAYS = 256  # sets of at most four equal steps from six points: 1 + 6 + 21 + 56 + 126
ROLLS = 21


@njit
def index_of(packed):
    """Index of a packed position."""
    index = 0
    behind = 0
    for point in range(HOME_POINTS, 0, -1):
        behind += packed >> 4 * (point - 1) & 15
        index += TERMS[point - 1, behind]
    return index


@njit
def position_of(index):
    """The packed position of an index."""
    packed = 0
    before = 0
    for point in range(1, HOME_POINTS + 1):
        behind = 0
        while behind < 15 and TERMS[point - 1, behind + 1] <= index:
            behind += 1
        index -= TERMS[point - 1, behind]
        if point > 1:
            packed |= (before - behind) << 4 * (point - 2)
        before = behind
    return packed | before << 4 * (HOME_POINTS - 1)


@njit(inline="always")
def _step(packed, source, die):
    """One checker played from point `source`; -1 where that isn't legal."""
    shift = 4 * (source - 1)
    if packed >> shift & 15 == 0:
        return -1
    if source > die:
        return packed - (1 << shift) + (1 << 4 * (source - die - 1))
    if source < die and packed >> 4 * source:
        return -1
    return packed - (1 << shift)


@njit
def _equal_dice(packed, die, plays, sources):
    """Plays of a double: the steps of a play are taken from the rear forwards, so every play comes up once."""
    plays[0] = packed
    sources[0] = HOME_POINTS
    first = 0
    last = 1
    over = False
    for _ in range(4):
        end = last
        for i in range(first, last):
            for source in range(sources[i], 0, -1):
                after = _step(plays[i], source, die)
                if after == 0:
                    over = True
                elif after > 0:
                    plays[end] = after
                    sources[end] = source
                    end += 1
        first = last
        last = end
    n = last - first
    for i in range(n):
        plays[i] = plays[first + i]
    if over:
        plays[n] = 0
        n += 1
    return n


@njit
def _add(packed, plays, n):
    """Append a play unless it is known; returns the number of plays."""
    for i in range(n):
        if plays[i] == packed:
            return n
    plays[n] = packed
    return n + 1


@njit
def bear_off_plays(packed, first, second, plays, sources):
    """All plays of a roll while bearing off without contact, each once.

    `packed`: one checker at least. `plays`: int64[MAX_BEAR_OFF_PLAYS] out, packed positions; `sources` the same size,
    scratch. Returns their number.
    """
    if first == second:
        return _equal_dice(packed, first, plays, sources)
    n = 0
    for order in range(2):
        one = first if order == 0 else second
        two = second if order == 0 else first
        for source in range(HOME_POINTS, 0, -1):
            between = _step(packed, source, one)
            if between == 0:
                n = _add(0, plays, n)
            elif between > 0:
                for other in range(HOME_POINTS, 0, -1):
                    after = _step(between, other, two)
                    if after >= 0:
                        n = _add(after, plays, n)
    return n


@njit(cache=True)
def plays_of(packed, first, second):
    """int64[n]: the packed positions after a roll, freshly allocated."""
    plays = np.empty(MAX_BEAR_OFF_PLAYS, dtype=np.int64)
    sources = np.empty(MAX_BEAR_OFF_PLAYS, dtype=np.int64)
    n = bear_off_plays(packed, first, second, plays, sources)
    return plays[:n].copy()


@njit(cache=True)
def all_indices(packed):
    """int64[n]: the index of each packed position (int64[n])."""
    return np.array([index_of(position) for position in packed])


@njit(cache=True)
def all_positions(count):
    """int64[count]: the packed positions in the order of their indices."""
    return np.array([position_of(index) for index in range(count)])


@njit
def _spread(sums, chances):
    """36ths of chances (int64[MOST_ROLLS + 1]) -> chances: running sums are rounded, so the total stays exact."""
    running = np.int64(0)
    before = np.int64(0)
    for rolls in range(MOST_ROLLS + 1):
        running += sums[rolls]
        rounded = (running + 18) // 36
        chances[rolls] = rounded - before
        before = rounded


@njit(cache=True, nogil=True)
def build_rolls(first, last, means, chances):
    """Positions first..last-1 of the one-sided database, from all those before.

    Each roll is played to leave the least mean number of rolls; of equal ones the position of smallest index.

    Args:
        means: int64[P] in 1/2**40, filled below `first`. chances: uint32[P, MOST_ROLLS + 1] in 1/2**30 likewise.
    """
    plays = np.empty(MAX_BEAR_OFF_PLAYS, dtype=np.int64)
    sources = np.empty(MAX_BEAR_OFF_PLAYS, dtype=np.int64)
    sums = np.empty(MOST_ROLLS + 1, dtype=np.int64)
    for index in range(first, last):
        if index == 0:
            means[0] = 0
            chances[0, :] = 0
            chances[0, 0] = CERTAIN
            continue
        packed = position_of(index)
        sums[:] = 0
        mean = np.int64(0)
        for a in range(1, 7):
            for b in range(1, a + 1):
                n = bear_off_plays(packed, a, b, plays, sources)
                best = index_of(plays[0])
                for i in range(1, n):
                    other = index_of(plays[i])
                    if means[other] < means[best] or (means[other] == means[best] and other < best):
                        best = other
                weight = 1 if a == b else 2
                mean += weight * means[best]
                for rolls in range(MOST_ROLLS):
                    sums[rolls + 1] += weight * np.int64(chances[best, rolls])
        means[index] = (1 << MEAN_BITS) + (mean + 18) // 36
        _spread(sums, chances[index])


@njit(cache=True, nogil=True)
def build_first_checker(first, last, means, chances):
    """Positions first..last-1 of fifteen checkers (0 = `FIRST_OF_FIFTEEN`): rolls until the first checker is off.

    Each roll bears off if it can, else it is played to leave the least mean number of rolls until then; of equal
    positions the one of smallest index.

    Args:
        means: int64[Q] in 1/2**40. chances: uint32[Q, MOST_ROLLS + 1] in 1/2**30. Both are filled below `first`.
    """
    plays = np.empty(MAX_BEAR_OFF_PLAYS, dtype=np.int64)
    sources = np.empty(MAX_BEAR_OFF_PLAYS, dtype=np.int64)
    sums = np.empty(MOST_ROLLS + 1, dtype=np.int64)
    for index in range(first, last):
        packed = position_of(index + FIRST_OF_FIFTEEN)
        sums[:] = 0
        mean = np.int64(0)
        for a in range(1, 7):
            for b in range(1, a + 1):
                weight = 1 if a == b else 2
                n = bear_off_plays(packed, a, b, plays, sources)
                best = index_of(plays[0])
                for i in range(1, n):
                    other = index_of(plays[i])
                    if best < FIRST_OF_FIFTEEN or other < FIRST_OF_FIFTEEN:
                        best = min(best, other)
                        continue
                    gain = means[best - FIRST_OF_FIFTEEN] - means[other - FIRST_OF_FIFTEEN]
                    if gain > 0 or (gain == 0 and other < best):
                        best = other
                if best < FIRST_OF_FIFTEEN:
                    sums[1] += weight * CERTAIN
                else:
                    mean += weight * means[best - FIRST_OF_FIFTEEN]
                    for rolls in range(MOST_ROLLS):
                        sums[rolls + 1] += weight * np.int64(chances[best - FIRST_OF_FIFTEEN, rolls])
        means[index] = (1 << MEAN_BITS) + (mean + 18) // 36
        _spread(sums, chances[index])


@njit(cache=True, nogil=True)
def list_plays(count):
    """Plays of all rolls of the first `count` positions.

    Returns:
        starts: int32[21 * count + 1], where the plays of position i and roll r (1-1, 2-1, 2-2, 3-1, ...) begin, at
        21 i + r; and int32[...], indices of the positions after them.
    """
    plays = np.empty(MAX_BEAR_OFF_PLAYS, dtype=np.int64)
    sources = np.empty(MAX_BEAR_OFF_PLAYS, dtype=np.int64)
    starts = np.zeros(ROLLS * count + 1, dtype=np.int32)
    afters = np.empty(0, dtype=np.int32)
    for fill in range(2):
        total = 0
        slot = 0
        for index in range(count):
            packed = position_of(index)
            for a in range(1, 7):
                for b in range(1, a + 1):
                    n = bear_off_plays(packed, a, b, plays, sources) if index > 0 else 0
                    if fill:
                        for i in range(n):
                            afters[total + i] = index_of(plays[i])
                    total += n
                    slot += 1
                    starts[slot] = total
        if not fill:
            afters = np.empty(total, dtype=np.int32)
    return starts, afters


@njit
def _expectation(own, opponent, starts, afters, values):
    """Fill `values[own, opponent]`: each roll is played best, for every cube state by itself."""
    replies = values[opponent]
    sums = np.zeros(CUBE_STATES, dtype=np.int64)
    slot = ROLLS * own
    for a in range(1, 7):
        for b in range(1, a + 1):
            weight = 1 if a == b else 2
            # Least of what the opponent has after the plays, in his view.
            cubeless = CERTAIN
            owned = CERTAIN
            centred = CERTAIN
            given = CERTAIN
            for i in range(starts[slot], starts[slot + 1]):
                reply = replies[afters[i]]
                doubled = np.int64(reply[OPPONENT_OWNS])
                cubeless = min(cubeless, np.int64(reply[CUBELESS]))
                owned = min(owned, best_cube_action(np.int64(reply[OWNED]), doubled))
                centred = min(centred, best_cube_action(np.int64(reply[CENTRED]), doubled))
                given = min(given, doubled)
            sums[CUBELESS] -= weight * cubeless
            sums[OWNED] -= weight * given  # the player's cube is the opponent's opponent's
            sums[CENTRED] -= weight * centred
            sums[OPPONENT_OWNS] -= weight * owned
            slot += 1
    for state in range(CUBE_STATES):
        values[own, opponent, state] = (sums[state] + 18) // 36


@njit(cache=True, nogil=True)
def build_two_sided(first, last, starts, afters, values):
    """Equities of all pairs of positions whose larger index is in first..last-1, from those with a smaller one.

    Args:
        first: at least 1. starts, afters: from `list_plays`.
        values: int32[N, N, 4] in 1/2**30, filled below `first`, and where the opponent of the player on roll is off.
    """
    for larger in range(first, last):
        for smaller in range(1, larger + 1):
            _expectation(larger, smaller, starts, afters, values)
            if smaller < larger:
                _expectation(smaller, larger, starts, afters, values)
