"""Loops that only the benchmark needs: many positions in one call, so that calling costs nothing."""

from __future__ import annotations

from engine.kernels.compiled import entry
from engine.kernels.moves import generate
from engine.kernels.network import is_won
from engine.kernels.play import rank_roll


@entry
def count_plays(boards, dice, flags, s):
    """Generate all plays of many positions.

    Args:
        boards: int8[N, 26], views of the players on roll. dice: int64[N, 2]. flags: `RuleSet.move_flags`. s: Scratch.

    Returns:
        The number of after-positions.
    """
    plays = 0
    for i in range(boards.shape[0]):
        plays += generate(boards[i], dice[i, 0], dice[i, 1], flags, s.plays, s.changed, s.keys, s.work)
    return plays


@entry
def count_unfinished(boards, dice, flags, s):
    """As `count_plays`, but without the plays that end the game, which no net is asked about."""
    plays = 0
    for i in range(boards.shape[0]):
        n = generate(boards[i], dice[i, 0], dice[i, 1], flags, s.plays, s.changed, s.keys, s.work)
        for k in range(n):
            plays += not is_won(s.plays[k])
    return plays


@entry
def evaluate_all_plays(boards, dice, engine, w):
    """Generate and value, by the main net, all plays of many positions (as for `count_plays`); returns their number."""
    plays = 0
    for i in range(boards.shape[0]):
        plays += rank_roll(boards[i], dice[i, 0], dice[i, 1], engine, w)
    return plays
