"""Legal plays: all after-positions of a roll, each once, with the places that changed.

Masks hold one bit a place (0..25, the mover's numbering). The opponent's made points never change within a turn, so
`blocked` is computed once and the sources of a die are three bit operations. For doubles every set of steps can be
played from the rear forwards, so only sequences with falling sources are walked and each after-position comes up
exactly once. For other rolls both orders are walked and repetitions are found by a linear 64-bit key of the changes.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from engine.kernels.bits import highest, lowest
from engine.kernels.compiled import allocating, inlined, kernel
from engine.rules import FORCED_BEAR_OFF, HIT_AND_RUN_BAN

MAX_PLAYS = 3072  # 15 checkers, four equal steps: at most C(18, 4) = 3,060 sets of steps

_HOME = 0x7E  # points 1..6
_OUTSIDE_HOME = ~0x7F


def _make_keys():
    """uint64[2, 26]: one random word for "one own checker more on place p" and one for "hit on place p"."""
    return np.random.default_rng(20261129).integers(1, 2**63, size=(2, 26), dtype=np.uint64)


KEYS = _make_keys()
KEYS[0, 0] = 0  # borne off: no place
KEYS[1, 0] = 0


@kernel
def occupied(board):
    """Mask of places with own checkers."""
    mask = 0
    for place in range(1, 26):
        if board[place] > 0:
            mask |= 1 << place
    return mask


@kernel
def blocked_points(board):
    """Mask of points that the opponent has made (two or more checkers)."""
    mask = 0
    for place in range(1, 25):
        if board[place] < -1:
            mask |= 1 << place
    return mask


@inlined
def _bear_off_sources(own, die):
    """Places from which `die` bears a checker off now."""
    if own & _OUTSIDE_HOME or own == 0:
        return 0
    if own >> die & 1:
        return 1 << die
    if own >> die == 0:
        return 1 << highest(own)
    return 0


@inlined
def _sources(own, blocked, die):
    """Places from which one checker may play `die` now, bearing off included."""
    movers = own & (1 << 25) if own >> 25 else own
    return (movers & ~(blocked << die) & ~((2 << die) - 1)) | _bear_off_sources(own, die)


@kernel
def _keep_hitters(board, sources, hits):
    """Drop sources that would leave a home point empty on which a blot was hit this turn (hit-and-run ban)."""
    held = sources & hits & _HOME
    while held:
        place = lowest(held)
        held &= held - 1
        if board[place] < 2:
            sources &= ~(1 << place)
    return sources


@inlined
def _step(board, source, die):
    """Play one checker; returns (target or 0 when borne off, 1 if it hit else 0)."""
    target = source - die
    board[source] -= 1
    if target <= 0:
        return 0, 0
    if board[target] < 0:
        board[target] = 1
        board[0] -= 1
        return target, 1
    board[target] += 1
    return target, 0


@inlined
def _unstep(board, source, target, hit):
    if target > 0:
        if hit:
            board[target] = -1
            board[0] += 1
        else:
            board[target] -= 1
    board[source] += 1


@inlined
def _own_after(own, board, source, target):
    if board[source] == 0:
        own &= ~(1 << source)
    if target > 0:
        own |= 1 << target
    return own


@inlined
def _key_step(source, target, hit):
    key = KEYS[0, target] - KEYS[0, source]
    if hit:
        key += KEYS[1, target]
    return key


@inlined
def _touch(source, target, hit):
    mask = 1 << source
    if target > 0:
        mask |= 1 << target
    if hit:
        mask |= 1
    return mask


@inlined
def _known(keys, n, key):
    """Whether `key` is among the first n; without a break, so that the loop is vectorised."""
    found = 0
    for i in range(n):
        found |= keys[i] == key
    return found != 0


@inlined
def _record(work, plays, changed, n, touched):
    for place in range(26):
        plays[n, place] = work[place]
    changed[n] = touched


@kernel
def _different_dice(work, own, blocked, high, low, ban, plays, changed, keys):
    n = 0
    longest = 0
    single_order = 0
    for order in range(2):
        first = high if order == 0 else low
        second = low if order == 0 else high
        sources = _sources(own, blocked, first)
        while sources:
            a = lowest(sources)
            sources &= sources - 1
            ta, ha = _step(work, a, first)
            own_a = _own_after(own, work, a, ta)
            key_a = _key_step(a, ta, ha)
            touched_a = _touch(a, ta, ha)
            more = _sources(own_a, blocked, second)
            if ban and ha:
                more = _keep_hitters(work, more, 1 << ta)
            if more == 0:
                if own_a == 0:  # the game is over: as good as both dice
                    if longest < 2:
                        longest = 2
                        n = 0
                    if not _known(keys, n, key_a):
                        _record(work, plays, changed, n, touched_a)
                        keys[n] = key_a
                        n += 1
                elif longest == 0 or (longest == 1 and single_order == order):
                    longest = 1
                    single_order = order  # the higher die goes first: once it fits, the lower one may not be played
                    _record(work, plays, changed, n, touched_a)
                    n += 1
            elif longest < 2:
                longest = 2
                n = 0
            while more:
                b = lowest(more)
                more &= more - 1
                tb = b - second
                if tb < 0:
                    tb = 0
                hb = 1 if tb > 0 and work[tb] < 0 else 0
                key = key_a + _key_step(b, tb, hb)
                if _known(keys, n, key):
                    continue
                tb, hb = _step(work, b, second)
                _record(work, plays, changed, n, touched_a | _touch(b, tb, hb))
                keys[n] = key
                n += 1
                _unstep(work, b, tb, hb)
            _unstep(work, a, ta, ha)
    return n


@allocating
def _equal_dice(work, own, blocked, die, ban, plays, changed):
    """Walk falling sources only; a branch that stops early is kept only if nothing longer exists."""
    pending = np.zeros(4, dtype=np.int64)
    owned = np.zeros(5, dtype=np.int64)
    hits = np.zeros(5, dtype=np.int64)
    touched = np.zeros(5, dtype=np.int64)
    source = np.zeros(4, dtype=np.int64)
    target = np.zeros(4, dtype=np.int64)
    hit = np.zeros(4, dtype=np.int64)
    n = 0
    longest = 0
    depth = 0
    owned[0] = own
    pending[0] = _sources(own, blocked, die)
    while depth >= 0:
        if pending[depth] == 0:
            depth -= 1
            if depth >= 0:
                _unstep(work, source[depth], target[depth], hit[depth])
            continue
        s = highest(pending[depth])
        pending[depth] &= ~(1 << s)
        t, h = _step(work, s, die)
        source[depth], target[depth], hit[depth] = s, t, h
        after = _own_after(owned[depth], work, s, t)
        touch = touched[depth] | _touch(s, t, h)
        hit_points = hits[depth] | (h << t)
        more = 0
        if depth < 3:
            more = _sources(after, blocked, die) & ((2 << s) - 1)
            if ban:
                more = _keep_hitters(work, more, hit_points)
        if more == 0:
            length = 4 if after == 0 else depth + 1
            if length > longest:
                longest = length
                n = 0
            if length == longest:
                _record(work, plays, changed, n, touch)
                n += 1
            _unstep(work, s, t, h)
        else:
            depth += 1
            owned[depth] = after
            touched[depth] = touch
            hits[depth] = hit_points
            pending[depth] = more
    return n


@allocating
def _forced_bear_off(work, own, blocked, first, second, ban, plays, changed, keys):
    """All orders of all dice under the forced bear-off; rare, so plain: walk everything, drop repetitions by key."""
    equal = first == second
    dice = 4 if equal else 2
    owned = np.zeros(5, dtype=np.int64)
    hits = np.zeros(5, dtype=np.int64)
    touched = np.zeros(5, dtype=np.int64)
    key = np.zeros(5, dtype=np.uint64)
    left = np.zeros((5, 2), dtype=np.int64)  # how many of each die are left
    pending = np.zeros((5, 2), dtype=np.int64)
    source = np.zeros(5, dtype=np.int64)
    target = np.zeros(5, dtype=np.int64)
    hit = np.zeros(5, dtype=np.int64)
    n = 0
    longest = 0
    single_high = False
    owned[0] = own
    left[0, 0] = 4 if equal else 1
    left[0, 1] = 0 if equal else 1
    depth = 0
    fresh = True
    while depth >= 0:
        if fresh:
            off0 = _bear_off_sources(owned[depth], first) if left[depth, 0] > 0 else 0
            off1 = _bear_off_sources(owned[depth], second) if left[depth, 1] > 0 else 0
            if ban:
                off0 = _keep_hitters(work, off0, hits[depth])
                off1 = _keep_hitters(work, off1, hits[depth])
            if off0 == 0 and off1 == 0:
                off0 = _sources(owned[depth], blocked, first) if left[depth, 0] > 0 else 0
                off1 = _sources(owned[depth], blocked, second) if left[depth, 1] > 0 else 0
                if ban:
                    off0 = _keep_hitters(work, off0, hits[depth])
                    off1 = _keep_hitters(work, off1, hits[depth])
            pending[depth, 0] = off0
            pending[depth, 1] = off1
            fresh = False
            if off0 == 0 and off1 == 0 and depth > 0:
                length = dice if owned[depth] == 0 else depth
                high = length == 1 and not equal and left[depth, 0 if first > second else 1] == 0
                if length > longest:
                    longest = length
                    n = 0
                    single_high = high
                if length == longest == 1 and not equal and high and not single_high:
                    n = 0
                    single_high = True
                wanted = length == longest and (length != 1 or equal or high == single_high)
                if wanted and not _known(keys, n, key[depth]):
                    _record(work, plays, changed, n, touched[depth])
                    keys[n] = key[depth]
                    n += 1
        which = 0 if pending[depth, 0] else 1
        if pending[depth, which] == 0:
            depth -= 1
            if depth >= 0:
                _unstep(work, source[depth], target[depth], hit[depth])
            continue
        s = highest(pending[depth, which])
        pending[depth, which] &= ~(1 << s)
        t, h = _step(work, s, first if which == 0 else second)
        source[depth], target[depth], hit[depth] = s, t, h
        owned[depth + 1] = _own_after(owned[depth], work, s, t)
        hits[depth + 1] = hits[depth] | (h << t)
        touched[depth + 1] = touched[depth] | _touch(s, t, h)
        key[depth + 1] = key[depth] + _key_step(s, t, h)
        left[depth + 1, 0] = left[depth, 0] - (1 if which == 0 else 0)
        left[depth + 1, 1] = left[depth, 1] - (1 if which == 1 else 0)
        depth += 1
        fresh = True
    return n


@kernel
def generate(board, first, second, flags, plays, changed, keys, work):
    """All legal plays of a roll.

    Args:
        board: int8[26], the mover's view. first, second: the dice. flags: `RuleSet.move_flags`.
        plays: int8[MAX_PLAYS, 26] out, after-positions before turning round. changed: int64[MAX_PLAYS] out, mask of
            places that may differ from `board`. keys: uint64[MAX_PLAYS] and work: int8[26], scratch.

    Returns:
        The number of plays; a roll that cannot be played gives one, the unchanged board.
    """
    own = occupied(board)
    blocked = blocked_points(board)
    for place in range(26):
        work[place] = board[place]
    ban = flags & HIT_AND_RUN_BAN != 0
    if flags & FORCED_BEAR_OFF:
        n = _forced_bear_off(work, own, blocked, first, second, ban, plays, changed, keys)
    elif first == second:
        n = _equal_dice(work, own, blocked, first, ban, plays, changed)
    else:
        high = max(first, second)
        low = min(first, second)
        n = _different_dice(work, own, blocked, high, low, ban, plays, changed, keys)
    if n == 0:
        _record(board, plays, changed, 0, 0)
        n = 1
    return n


@kernel
def flip_into(board, out):
    """`out` = the same position from the other player's view."""
    for place in range(26):
        out[place] = -board[25 - place]


@njit(cache=True)
def legal_plays(board, first, second, flags):
    """int8[P, 26]: the after-positions of one roll, freshly allocated."""
    plays = np.empty((MAX_PLAYS, 26), dtype=np.int8)
    changed = np.empty(MAX_PLAYS, dtype=np.int64)
    keys = np.empty(MAX_PLAYS, dtype=np.uint64)
    work = np.empty(26, dtype=np.int8)
    n = generate(board, first, second, flags, plays, changed, keys, work)
    return plays[:n].copy()
