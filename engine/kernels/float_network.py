"""The float network as a plain kernel: what the integer twin is compared with where Torch is too much to load."""

from __future__ import annotations

import numpy as np
from numba import njit

from engine.kernels.facts import FACTS, board_facts, fact_row, place_row
from engine.kernels.network import CLIP, CONTACT, DIRECT, RACE, SECOND


@njit(cache=True, nogil=True)
def evaluate_float(boards, table, bias, second, second_bias, last, last_bias, facts, sums, outcomes, races):
    """Outcomes of after-positions before the rules' limits, equal to the Torch module's to 1e-5.

    Args:
        boards: int8[N, 26], views of the players who just moved. table ... last_bias: float32 arrays as in
            `engine.weights`, the table as [C, ROWS, H]. facts: int64[FACTS] and sums: int64[2, 6], scratch.
            outcomes: float32[N, 5] out. races: bool[N] out.
    """
    width = bias.shape[1]
    zero = np.float32(0.0)
    clip = np.float32(CLIP)
    total = np.empty(width, dtype=np.float32)
    units = np.empty(SECOND, dtype=np.float32)
    for i in range(boards.shape[0]):
        races[i] = board_facts(boards[i], sums, facts)
        c = RACE if races[i] else CONTACT
        total[:] = bias[c]
        for place in range(26):
            row = place_row(place, boards[i, place])
            if row:
                total += table[c, row]
        for fact in range(FACTS):
            row = fact_row(fact, facts[fact])
            if row:
                total += table[c, row]
        units[:] = second_bias[c]
        for j in range(width):
            units += min(max(total[j], zero), clip) * second[c, j]
        for o in range(DIRECT):
            logit = last_bias[c, o] + units[SECOND - DIRECT + o]
            for k in range(SECOND - DIRECT):
                logit += min(max(units[k], zero), clip) * last[c, k, o]
            outcomes[i, o] = np.float32(1.0) / (np.float32(1.0) + np.exp(-logit))
