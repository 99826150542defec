"""Games of the network against itself, with TD(lambda) targets."""

from __future__ import annotations

import numpy as np
from numba import njit

from engine.kernels.dice import below, noise, opening_dice
from engine.kernels.moves import flip_into
from engine.kernels.network import ONE, is_won
from engine.kernels.play import best_of, rank_roll

MAX_HALF_MOVES = 1024
STREAM_SELF_PLAY = 3


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


@njit(cache=True, nogil=True)
def play_games(start, seed, first_game, games, reroll, td_lambda, engine, w, boards, targets, lengths):
    """Play games greedily at 1-ply and label every after-position with its TD(lambda) return.

    Args:
        start: int8[26], view of the player who moves first. seed, first_game, games: which games (each game's dice
            are a function of seed and game number). reroll: whether the winner of the opening roll rolls again.
            td_lambda: 0 = one step, 1 = final result. boards: int8[N, 26] out, after-positions in the view of the
            player who just moved. targets: float32[N, 5] out, same view. lengths: int64[games] out, half-moves of
            each game (0: dropped because it did not end in MAX_HALF_MOVES).

    Returns:
        (positions written, games played); stops early when the next game might not fit into `boards`.
    """
    s = w.main
    written = 0
    board = np.empty(26, dtype=np.int8)
    values = np.empty((MAX_HALF_MOVES, 5), dtype=np.float32)
    running = np.empty(5, dtype=np.float32)
    following = np.empty(5, dtype=np.float32)
    lam = np.float32(td_lambda)
    rest = np.float32(1.0) - lam
    for g in range(games):
        if written + MAX_HALF_MOVES > boards.shape[0]:
            return written, g
        game = first_game + g
        board[:] = start
        first = written
        n_moves = 0
        won = False
        while n_moves < MAX_HALF_MOVES:
            if n_moves == 0:
                d1, d2 = opening_roll(seed, game, reroll)
            else:
                index = below(noise(seed, STREAM_SELF_PLAY, game, n_moves), 36)
                d1, d2 = index // 6 + 1, index % 6 + 1
            n = rank_roll(board, d1, d2, engine, w)
            best = best_of(n, s)
            boards[first + n_moves] = s.plays[best]
            for o in range(5):
                values[n_moves, o] = np.float32(s.outcomes[best, o]) / np.float32(ONE)
            n_moves += 1
            if is_won(s.plays[best]):
                won = True
                break
            flip_into(s.plays[best], board)
        if not won:
            lengths[g] = 0
            continue
        lengths[g] = n_moves
        # The last after-position is the end of the game: it labels the one before it and is not a sample itself.
        running[:] = values[n_moves - 1]
        for t in range(n_moves - 2, -1, -1):
            for o in range(5):
                following[o] = rest * values[t + 1, o] + lam * running[o]
            invert_into(following, running)
            targets[first + t] = running
        written = first + n_moves - 1
    return written, games
