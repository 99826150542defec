"""Exact endings: chances and equities of positions in which both sides only bear off, read from databases.

A side's checkers in its home are numbered by a combinatorial index. With t(p) the number of checkers on point p and
behind it (p..6), the index is the sum of C(t(p) + 6 - p, 7 - p) over the six points. Beside being dense it has two
uses: every step of a checker makes it smaller, so a database is built in this order; and positions of n checkers or
fewer come before all others, so a database of fewer checkers is the beginning of a larger one.

Fixed point: chances and equities of the databases in 1/2**30, mean numbers of rolls in 1/2**40, outcomes in 1/2**20.
Databases hold for free bear-off and fifteen checkers a side (`RuleSet.databases_hold`). For other rules give empty
ones: with a forced bear-off other plays are legal, and with fewer checkers other sides lose gammons.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels.compiled import entry, inlined, kernel

HOME_POINTS = 6
ALL_CHECKERS = 15
CHANCE_BITS = 30
CERTAIN = 1 << CHANCE_BITS
"""Chance 1 (and an equity of one point) in the databases."""
MEAN_BITS = 40
OUTCOME_BITS = 20
"""As the network's outcomes; not imported from there, so that the network's kernels may call these."""

CUBELESS, OWNED, CENTRED, OPPONENT_OWNS = range(4)
CUBE_STATES = 4


def position_count(checkers: int) -> int:
    """How many positions of up to `checkers` checkers there are on six points."""
    return math.comb(checkers + HOME_POINTS, HOME_POINTS)


def _index_terms():
    """int64[6, 16]: term of the index of point p (row p - 1) with t checkers on it and behind it."""
    terms = [[math.comb(t + 6 - p, 7 - p) for t in range(ALL_CHECKERS + 1)] for p in range(1, HOME_POINTS + 1)]
    return np.array(terms, dtype=np.int64)


TERMS = _index_terms()
FIRST_OF_FIFTEEN = position_count(ALL_CHECKERS - 1)
"""Index of the first position of fifteen checkers: from here on a gammon can be lost."""


class BearoffArrays(NamedTuple):
    """The databases as the kernels take them (read-only arrays; memory-mapped ones serve).

    P positions in the one-sided database, Q of them of fifteen checkers (the last Q, or none), N in the two-sided one.
    An empty database knows no position.
    """

    means: NDArray[np.int64]  # [P] least mean number of rolls to bear off everything, in 1/2**40
    least: NDArray[np.int8]  # [P] number of rolls that the first chance of a position belongs to
    starts: NDArray[np.int32]  # [P + 1] where in `chances` a position begins
    chances: NDArray[np.uint32]  # chance of least, least + 1, ... rolls in 1/2**30; a position's sum is 2**30 exactly
    first_later: NDArray[np.uint32]  # [Q, W] chance in 1/2**30 that the first checker isn't off after 0..W-1 rolls
    two_sided: NDArray[np.int32]  # [N, N, 4] see `bearoff_equities`: player on roll, opponent, cube state


@kernel
def bearoff_indices(board):
    """(mover's index, opponent's index), each in its own numbering; (-1, -1) unless every checker is in its home.

    `board`: int8[26] in any view. Index 0 belongs to a side that has borne off everything.
    """
    for place in range(7, 19):
        if board[place] != 0:
            return -1, -1
    if board[0] != 0 or board[25] != 0:
        return -1, -1
    own = 0
    own_behind = 0
    opponent = 0
    opponent_behind = 0
    for point in range(HOME_POINTS, 0, -1):
        own_count = np.int64(board[point])
        opponent_count = -np.int64(board[25 - point])
        if own_count < 0 or opponent_count < 0:
            return -1, -1
        own_behind += own_count
        opponent_behind += opponent_count
        own += TERMS[point - 1, own_behind]
        opponent += TERMS[point - 1, opponent_behind]
    return own, opponent


@inlined
def _to_outcome(product):
    """A product of two chances as a probability of an outcome, rounded to the nearest."""
    return (product + (1 << (2 * CHANCE_BITS - OUTCOME_BITS - 1))) >> (2 * CHANCE_BITS - OUTCOME_BITS)


@inlined
def _chance_before(own, opponent, databases):
    """Chance (1/2**60) that the mover needs fewer rolls than the opponent, who rolls first."""
    own_start = databases.starts[own]
    other = np.int64(databases.starts[opponent])
    other_end = np.int64(databases.starts[opponent + 1])
    other_rolls = np.int64(databases.least[opponent])
    not_off = np.int64(CERTAIN)  # chance that the opponent needs more than `rolls`
    total = np.int64(0)
    for i in range(databases.starts[own + 1] - own_start):
        rolls = databases.least[own] + i
        while other < other_end and other_rolls <= rolls:
            not_off -= np.int64(databases.chances[other])
            other += 1
            other_rolls += 1
        if not_off == 0:
            break
        total += np.int64(databases.chances[own_start + i]) * not_off
    return total


@inlined
def _chance_before_first(winner, loser, ahead, databases):
    """Chance (1/2**60) that the winner bears off all before the loser bears off one of fifteen.

    `ahead`: 1 if the winner rolls first, so that the loser has one roll less by then, else 0.
    """
    later = databases.first_later[loser - FIRST_OF_FIFTEEN]
    start = databases.starts[winner]
    total = np.int64(0)
    for i in range(databases.starts[winner + 1] - start):
        rolls = databases.least[winner] + i - ahead
        if rolls >= later.shape[0]:
            break
        total += np.int64(databases.chances[start + i]) * np.int64(later[rolls])
    return total


@kernel
def bearoff_outcome(board, databases, outcome):
    """Outcome of an after-position in which both sides only bear off.

    Wins come from the two-sided database where it has both sides, so they are those of best cubeless play; else from
    the one-sided distributions, where each side plays for its least mean number of rolls whatever the other does.
    Gammons suppose that the winner plays so, and that the loser plays for the least mean number of rolls until his
    first checker is off. A backgammon is impossible: all of the loser's checkers are in his own home.

    Where most boards are no bear-offs, ask `bearoff_indices` first: passing the databases costs more than looking.

    Args:
        board: int8[26], view of the player who just moved; the opponent is on roll.
        databases: `BearoffArrays`.
        outcome: int64[5] out, in 1/2**20, same view; left alone where the answer is no.

    Returns:
        Whether the databases know the position: every checker in its home, the game not over, not too many checkers.
    """
    own, opponent = bearoff_indices(board)
    if own <= 0 or opponent <= 0:
        return False
    both = databases.two_sided.shape[0]
    if own < both and opponent < both:
        equity = np.int64(databases.two_sided[opponent, own, CUBELESS])
        bits = CHANCE_BITS + 1 - OUTCOME_BITS
        outcome[0] = (CERTAIN - equity + (1 << (bits - 1))) >> bits
        for o in range(1, 5):
            outcome[o] = 0
        return True
    known = databases.means.shape[0]
    if own >= known or opponent >= known:
        return False
    win = _to_outcome(_chance_before(own, opponent, databases))
    win_gammon = 0
    lose_gammon = 0
    if opponent >= FIRST_OF_FIFTEEN:
        win_gammon = _to_outcome(_chance_before_first(own, opponent, 0, databases))
    if own >= FIRST_OF_FIFTEEN:
        lose_gammon = _to_outcome(_chance_before_first(opponent, own, 1, databases))
    outcome[0] = win
    outcome[1] = min(win_gammon, win)
    outcome[2] = 0
    outcome[3] = min(lose_gammon, (1 << OUTCOME_BITS) - win)
    outcome[4] = 0
    return True


@inlined
def best_cube_action(rolling, doubled):
    """Equity of a player on roll who may double: the better of rolling and doubling; the opponent takes or passes.

    Both in 1/2**30 of the cube's value now. `rolling`: equity of rolling without a double (`OWNED` or `CENTRED`).
    `doubled`: equity with the opponent's cube (`OPPONENT_OWNS`), which after a take counts twice; a pass is one point.
    """
    return max(rolling, 2 * min(doubled, CERTAIN >> 1))


@kernel
def bearoff_equities(board, databases, equities):
    """Money equities of the player on roll who rolls now, without doubling first; from then on both use the cube best.

    So these are the equities of "no double". Doubling and `best_cube_action` follow: taken, a double is worth twice
    that of `OPPONENT_OWNS`, passed, one point.

    Args:
        board: int8[26], view of the player on roll.
        databases: `BearoffArrays`.
        equities: int64[4] out, in 1/2**30 of the cube's value: cubeless, he owns the cube, it is centred (no Jacoby),
            the opponent owns it; left alone where the answer is no.

    Returns:
        Whether the two-sided database knows the position and the game isn't over.
    """
    own, opponent = bearoff_indices(board)
    both = databases.two_sided.shape[0]
    if own <= 0 or opponent <= 0 or own >= both or opponent >= both:
        return False
    for state in range(CUBE_STATES):
        equities[state] = databases.two_sided[own, opponent, state]
    return True


@entry
def outcomes_of(boards, databases, outcomes, known):
    """`bearoff_outcome` of many after-positions: int8[N, 26] -> int64[N, 5] and bool[N]."""
    for i in range(boards.shape[0]):
        known[i] = bearoff_outcome(boards[i], databases, outcomes[i])


@entry
def equities_of(boards, databases, equities, known):
    """`bearoff_equities` of many positions before the roll: int8[N, 26] -> int64[N, 4] and bool[N]."""
    for i in range(boards.shape[0]):
        known[i] = bearoff_equities(boards[i], databases, equities[i])
