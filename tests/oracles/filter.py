"""The filter net the plain way: whole numbers, loops, and sorting; shares no code with `engine`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from oracles import facts, network

PLACE_ROWS = 1 + facts.PLACE_ROWS


def quantised(net: Mapping[str, Any]) -> dict[str, Any]:
    """Integers nearest to the float arrays (table [2 * PLACE_ROWS, F], bias [2, F], last [2, F, 5], last_bias [2, 5]):
    activations in 1/1,024, weights in 1/2,048.
    """

    def whole(numbers: Any, steps: int) -> Any:
        if isinstance(numbers, list):
            return [whole(part, steps) for part in numbers]
        return round(numbers * steps)

    table = whole(net["table"].tolist(), network.ACTIVATION_STEPS)
    return {
        "table": [table[:PLACE_ROWS], table[PLACE_ROWS:]],
        "bias": whole(net["bias"].tolist(), network.ACTIVATION_STEPS),
        "last": whole(net["last"].tolist(), network.WEIGHT_STEPS),
        "last_bias": whole(net["last_bias"].tolist(), network.ACTIVATION_STEPS * network.WEIGHT_STEPS),
    }


def integer_outcome(board: Sequence[int], net: Mapping[str, Any]) -> list[int]:
    """The net's five chances in 1/2**20 for an after-position that isn't won; `net` is what `quantised` made."""
    c = 0 if facts.is_race(board) else 1
    rows = [1 + place * 31 + count + 15 for place, count in enumerate(board) if count]
    width = len(net["bias"][c])
    active = [network.clipped(net["bias"][c][j] + sum(net["table"][c][row][j] for row in rows)) for j in range(width)]
    logits = [net["last_bias"][c][o] + sum(active[j] * net["last"][c][j][o] for j in range(width)) for o in range(5)]
    return [network.sigmoid(logit) for logit in logits]


def equity(outcome: Sequence[int], utility: Sequence[int]) -> int:
    """Points in 1/2**20."""
    return sum(w * p for w, p in zip(utility, outcome, strict=True)) - network.ONE


def kept(equities: Sequence[int], won: Sequence[bool], keep: int) -> list[int]:
    """Which of the plays, in the order of generation: those that win, then the highest equities, then the first."""
    ranked = sorted(range(len(equities)), key=lambda i: (not won[i], -equities[i], i))
    return sorted(ranked[:keep])
