"""The float network as a plain kernel: what the integer twin is compared with where Torch is too much to load."""

from __future__ import annotations

import numpy as np
from numba import njit

from engine.kernels.facts import WIDTH, first_layer_rows, table_of
from engine.kernels.network import CLIP, DIRECT, SECOND


@njit(cache=True, nogil=True)
def evaluate_float(boards, table, bias, second, second_bias, last, last_bias, rows, outcomes, classes):
    """Outcomes of after-positions before the rules' limits, equal to the Torch module's to 1e-5.

    Args:
        boards: int8[N, 26], views of the players who just moved. table ... last_bias: float32 arrays as in
            `engine.weights`, the table as [T, ROWS, H]. rows: int32[ROW_SPACE], scratch.
            outcomes: float32[N, 5] out. classes: int64[N] out.
    """
    width = bias.shape[1]
    zero = np.float32(0.0)
    clip = np.float32(CLIP)
    total = np.empty(width, dtype=np.float32)
    units = np.empty(SECOND, dtype=np.float32)
    for i in range(boards.shape[0]):
        classes[i], _, _ = first_layer_rows(boards[i], rows)
        c = classes[i]
        t = table_of(c)
        total[:] = bias[t]
        for k in range(WIDTH):
            if rows[k] != 0:
                total += table[t, rows[k]]
        units[:] = second_bias[c]
        for j in range(width):
            units += min(max(total[j], zero), clip) * second[c, j]
        for o in range(DIRECT):
            logit = last_bias[c, o] + units[SECOND - DIRECT + o]
            for k in range(SECOND - DIRECT):
                logit += min(max(units[k], zero), clip) * last[c, k, o]
            outcomes[i, o] = np.float32(1.0) / (np.float32(1.0) + np.exp(-logit))
