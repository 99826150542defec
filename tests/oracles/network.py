"""The integer network and its floating-point original in plain Python: sums over lists, one position at a time.

Shares no code with `engine`; sizes and fixed-point formats are repeated here as documented, and the integers are made
from the trained weights, so that the kernel may lay them out as it likes. Outcomes are those of after-positions, from
the view of the player who just moved.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from oracles import facts

ONE = 1 << 20
CLIP = 4
SECOND = 32
DIRECT = 5
ACTIVATION_STEPS = 1 << 10
WEIGHT_STEPS = 1 << 11
TABLE_STEPS = 128  # of the sigmoid's argument, per unit
TABLE_END = 16

SIGMOID = [round(ONE / (1 + math.exp(-i / TABLE_STEPS))) for i in range(TABLE_END * TABLE_STEPS + 1)]


def sigmoid(logit: int) -> int:
    """Probability in 1/2**20 of a logit in 1/2**21: straight lines between the entries of the table, rounded down."""
    if logit < 0:
        return ONE - sigmoid(-logit)
    steps_apart = ACTIVATION_STEPS * WEIGHT_STEPS // TABLE_STEPS
    index, part = divmod(min(logit, TABLE_END * TABLE_STEPS * steps_apart - 1), steps_apart)
    rise = SIGMOID[index + 1] - SIGMOID[index]
    return SIGMOID[index] + rise * part // steps_apart


def clipped(value: int) -> int:
    """The activation, in 1/1,024: from 0 to 4."""
    return max(0, min(value, CLIP * ACTIVATION_STEPS))


def quantised(net: Mapping[str, Any]) -> dict[str, Any]:
    """Integers nearest to the float arrays (see `float_logits`): activations in 1/1,024, weights in 1/2,048."""

    def whole(numbers: Any, steps: int) -> Any:
        if isinstance(numbers, list):
            return [whole(part, steps) for part in numbers]
        return round(numbers * steps)

    table = net["table"].tolist()
    rows = len(table) // 2
    return {
        "table": [whole(table[:rows], ACTIVATION_STEPS), whole(table[rows:], ACTIVATION_STEPS)],
        "bias": whole(net["bias"].tolist(), ACTIVATION_STEPS),
        "second": whole(net["second"].tolist(), WEIGHT_STEPS),
        "second_bias": whole(net["second_bias"].tolist(), ACTIVATION_STEPS * WEIGHT_STEPS),
        "last": whole(net["last"].tolist(), WEIGHT_STEPS),
        "last_bias": whole(net["last_bias"].tolist(), ACTIVATION_STEPS * WEIGHT_STEPS),
    }


def integer_outcome(board: Sequence[int], net: Mapping[str, Any], checkers: int = 15) -> list[int]:
    """Outcome of an after-position in 1/2**20.

    Args:
        net: what `quantised` made; table 0 is for races, 1 for contact. checkers: of each side at the start.
    """
    if not any(count > 0 for count in board):
        return final_outcome(board, checkers)
    c = facts.position_class(board)
    t = min(c, 1)
    rows = [row for row in facts.rows(board) if row]
    width = len(net["bias"][t])
    sums = [net["bias"][t][j] + sum(net["table"][t][row][j] for row in rows) for j in range(width)]
    active = [clipped(value) for value in sums]
    units = [
        net["second_bias"][c][k] + sum(active[j] * net["second"][c][j][k] for j in range(width)) for k in range(SECOND)
    ]
    hidden = [clipped((unit + WEIGHT_STEPS // 2) // WEIGHT_STEPS) for unit in units]
    logits = [
        net["last_bias"][c][o]
        + units[SECOND - DIRECT + o]
        + sum(hidden[k] * net["last"][c][k][o] for k in range(SECOND - DIRECT))
        for o in range(5)
    ]
    limited = within_rules(board, [sigmoid(logit) for logit in logits], ONE, checkers)
    return [int(value) for value in limited]


def float_logits(board: Sequence[int], net: Mapping[str, Any], rows_of_table: int) -> list[float]:
    """The five logits in floating point.

    Args:
        net: the float arrays as trained: table [2 * ROWS, H], bias [2, H], second [9, H, 32], second_bias [9, 32],
            last [9, 27, 5], last_bias [9, 5]. rows_of_table: ROWS.
    """
    c = facts.position_class(board)
    t = min(c, 1)
    rows = [t * rows_of_table + row for row in facts.rows(board) if row]
    width = len(net["bias"][t])
    sums = [float(net["bias"][t][j]) + math.fsum(float(net["table"][row][j]) for row in rows) for j in range(width)]
    active = [max(0.0, min(value, CLIP)) for value in sums]
    units = [
        float(net["second_bias"][c][k]) + math.fsum(active[j] * float(net["second"][c][j][k]) for j in range(width))
        for k in range(SECOND)
    ]
    hidden = [max(0.0, min(unit, CLIP)) for unit in units]
    return [
        float(net["last_bias"][c][o])
        + units[SECOND - DIRECT + o]
        + math.fsum(hidden[k] * float(net["last"][c][k][o]) for k in range(SECOND - DIRECT))
        for o in range(5)
    ]


def within_rules(board: Sequence[int], outcome: Sequence[float], one: float, checkers: int = 15) -> list[float]:
    """The outcome without what cannot happen; `one` is what a certain event counts."""
    own, other = facts.sides(board)
    win, gammon, backgammon, lose_gammon, lose_backgammon = outcome
    gammon = min(gammon, win) if sum(other) == checkers else 0
    lose_gammon = min(lose_gammon, one - win) if sum(own) == checkers else 0
    if facts.is_race(board):  # who is out of the winner's home now stays out of it
        backgammon = backgammon if sum(other[:7]) else 0
        lose_backgammon = lose_backgammon if sum(own[19:]) else 0
    return [win, gammon, min(backgammon, gammon), lose_gammon, min(lose_backgammon, lose_gammon)]


def final_outcome(board: Sequence[int], checkers: int = 15) -> list[int]:
    """Outcome of a game that the player who just moved has won."""
    _, other = facts.sides(board)
    gammon = sum(other) == checkers
    backgammon = gammon and sum(other[:7]) > 0
    return [ONE, ONE * gammon, ONE * backgammon, 0, 0]
