"""Games of the network against itself: greedy ones with TD(lambda) targets, and exploring ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from engine.kernels.dice import below, noise, opening_dice
from engine.kernels.moves import flip_into
from engine.kernels.network import ONE, is_won
from engine.kernels.play import best_of, rank_roll, settled

MAX_HALF_MOVES = 1024
STREAM_SELF_PLAY = 3
STREAM_EXPLORE = 5
MOST_CANDIDATES = 32


class Games(NamedTuple):
    """Games to play; G of them, of one seed."""

    seed: int
    first: int
    """Number of the first game: a game's dice are a function of the seed and its number."""
    reroll: bool
    """Whether the winner of the opening roll rolls both dice again."""
    starts: NDArray[np.int8]
    """[G, 26]: the position before the first roll, view of the player who moves first."""
    opening: NDArray[np.bool_]
    """[G]: whether the first roll is an opening roll; else it is any of the 36."""
    skip: NDArray[np.int64]
    """[G]: half-moves at the beginning that leave no samples."""
    length: NDArray[np.int64]
    """[G]: half-moves after these that do (at least 1)."""


class Exploration(NamedTuple):
    """How games leave the greedy path; chances in 1/2**32."""

    random_play: int
    """Chance that a random one of the best plays is made."""
    sibling: int
    """Chance that another one of the best plays becomes a sample too."""
    best: int
    """How many plays count as the best."""


@njit(inline="always")
def invert_into(outcome, out):
    """`out` = the same chances from the other player's view."""
    a, b, c, d = outcome[3], outcome[4], outcome[1], outcome[2]
    out[0] = np.float32(1.0) - outcome[0]
    out[1] = a
    out[2] = b
    out[3] = c
    out[4] = d


@njit
def opening_roll(seed, game, reroll):
    """(first die, second die) of the first move; without `reroll` it is never a double."""
    return opening_dice(noise(seed, STREAM_SELF_PLAY, game, 0), reroll)


@njit
def _game_roll(games, g, half_move):
    """Both dice of a half-move (from 0) of game g."""
    if half_move == 0 and games.opening[g]:
        return opening_roll(games.seed, games.first + g, games.reroll)
    index = below(noise(games.seed, STREAM_SELF_PLAY, games.first + g, half_move), 36)
    return index // 6 + 1, index % 6 + 1


@njit
def _play_and_label(games, g, td_lambda, engine, w, moved, values, boards, targets):
    """Play game g greedily and label its after-positions; `boards` and `targets` have room for them.

    Returns:
        (samples written, half-moves played; 0: the game did not end).
    """
    s = w.main
    board = np.empty(26, dtype=np.int8)
    running = np.empty(5, dtype=np.float32)
    following = np.empty(5, dtype=np.float32)
    lam = np.float32(td_lambda)
    rest = np.float32(1.0) - lam
    board[:] = games.starts[g]
    n_moves = 0
    won = False
    while n_moves < MAX_HALF_MOVES:
        d1, d2 = _game_roll(games, g, n_moves)
        n = rank_roll(board, d1, d2, engine, w)
        best = best_of(n, s)
        moved[n_moves] = s.plays[best]
        for o in range(5):
            values[n_moves, o] = np.float32(s.outcomes[best, o]) / np.float32(ONE)
        n_moves += 1
        if is_won(s.plays[best]):
            won = True
            break
        flip_into(s.plays[best], board)
    if not won:
        return 0, 0
    # The last after-position is the end of the game: it labels the one before it and is not a sample itself.
    first = min(games.skip[g], n_moves - 1)
    end = min(first + games.length[g], n_moves - 1)
    running[:] = values[n_moves - 1]
    for t in range(n_moves - 2, first - 1, -1):
        for o in range(5):
            following[o] = rest * values[t + 1, o] + lam * running[o]
        invert_into(following, running)
        if t < end:
            boards[t - first] = moved[t]
            targets[t - first] = running
    return end - first, n_moves


@njit(cache=True, nogil=True)
def play_labelled(games, td_lambda, engine, w, boards, targets, written, lengths):
    """Play games greedily at 1-ply and label every after-position with its TD(lambda) return.

    Args:
        games: `Games`. td_lambda: 0 = one step, 1 = final result. boards: int8[N, 26] out, after-positions in the view
            of the player who just moved. targets: float32[N, 5] out, same view. written: int64[G] out, samples of each
            game. lengths: int64[G] out, half-moves of each game (0: dropped because it did not end in MAX_HALF_MOVES).

    Returns:
        (samples written, games played); stops early when the next game might not fit into `boards`.
    """
    moved = np.empty((MAX_HALF_MOVES, 26), dtype=np.int8)
    values = np.empty((MAX_HALF_MOVES, 5), dtype=np.float32)
    total = 0
    for g in range(games.starts.shape[0]):
        if total + min(games.length[g], MAX_HALF_MOVES) > boards.shape[0]:
            return total, g
        n, length = _play_and_label(games, g, td_lambda, engine, w, moved, values, boards[total:], targets[total:])
        written[g] = n
        lengths[g] = length
        total += n
    return total, games.starts.shape[0]


@njit(cache=True, nogil=True)
def play_games(start, seed, first_game, games, reroll, td_lambda, engine, w, boards, targets, lengths):
    """`play_labelled` for games that all begin with the opening roll in one position and leave all their samples.

    Args:
        start: int8[26], view of the player who moves first. seed, first_game, games: which games.

    Returns:
        (samples written, games played); stops early when the next game might not fit into `boards`.
    """
    starts = np.empty((games, 26), dtype=np.int8)
    starts[:] = start
    whole = Games(
        seed,
        first_game,
        reroll,
        starts,
        np.ones(games, dtype=np.bool_),
        np.zeros(games, dtype=np.int64),
        np.full(games, MAX_HALF_MOVES, dtype=np.int64),
    )
    written = np.zeros(games, dtype=np.int64)
    return play_labelled(whole, td_lambda, engine, w, boards, targets, written, lengths)


@njit
def _best_plays(n, most, s, order):
    """Indices of the best `most` of the first n plays, best first (equal ones as they were generated), into `order`;
    returns their number.
    """
    kept = 0
    for i in range(n):
        if kept == most and s.equities[i] <= s.equities[order[kept - 1]]:
            continue
        at = kept if kept < most else kept - 1
        while at > 0 and s.equities[order[at - 1]] < s.equities[i]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = i
        if kept < most:
            kept += 1
    return kept


@njit
def _explored(games, g, half_move, what):
    """Random bits of a half-move for one purpose (0..3)."""
    return noise(games.seed, STREAM_EXPLORE, games.first + g, 4 * half_move + what)


@njit(cache=True, nogil=True)
def play_exploring(games, how, engine, w, boards, written):
    """Play games that sometimes make another play than the best, and keep after-positions without labels.

    A game ends where nothing is left to find out (see `settled`), or with the half-moves that leave samples.

    Args:
        games: `Games`. how: `Exploration`. boards: int8[N, 26] out, after-positions in the view of the player who just
            moved. written: int64[G] out, samples of each game.

    Returns:
        (samples written, games played); stops early when the next game might not fit into `boards`.
    """
    s = w.main
    board = np.empty(26, dtype=np.int8)
    order = np.empty(MOST_CANDIDATES, dtype=np.int64)
    outcome = np.empty(5, dtype=np.int64)
    most = min(how.best, MOST_CANDIDATES)
    total = 0
    for g in range(games.starts.shape[0]):
        if total + 2 * min(games.length[g], MAX_HALF_MOVES) > boards.shape[0]:
            return total, g
        first = total
        board[:] = games.starts[g]
        for t in range(min(games.skip[g] + games.length[g], MAX_HALF_MOVES)):
            d1, d2 = _game_roll(games, g, t)
            n = rank_roll(board, d1, d2, engine, w)
            made = best_of(n, s)
            candidates = _best_plays(n, most, s, order)
            if (_explored(games, g, t, 0) >> np.uint64(32)) < np.uint64(how.random_play):
                made = order[below(_explored(games, g, t, 1), candidates)]
            if settled(s.plays[made], engine, outcome):
                break
            if t >= games.skip[g]:
                boards[total] = s.plays[made]
                total += 1
                if (_explored(games, g, t, 2) >> np.uint64(32)) < np.uint64(how.sibling):
                    other = order[below(_explored(games, g, t, 3), candidates)]
                    if other != made and not settled(s.plays[other], engine, outcome):
                        boards[total] = s.plays[other]
                        total += 1
            flip_into(s.plays[made], board)
        written[g] = total - first
    return total, games.starts.shape[0]
