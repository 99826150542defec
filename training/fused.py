"""The inner loops of fitting on a CPU: the sparse first layer forward and backward, the head, and Adam.

`engine.network` is the truth: the gradients here equal those that Torch finds for its modules (a test compares every
parameter). What makes it fast: the samples are sorted by the rows they use, so the gradient of a row is a sum that
goes straight into Adam and no array of gradients exists; rows that no sample of the batch uses are not touched ("lazy"
Adam: their moments wait).

Divisions follow NumPy's rules: the check for a zero that Python's need keeps a loop from using vectors.

Every number is computed by one loop whichever thread runs it, so bits don't depend on the number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from engine.kernels import source_digest as _kernels_first  # noqa: F401  (sets where compiled code is kept)
from engine.kernels.network import CLIP
from engine.outcome import OUTCOMES

Floats = NDArray[np.float32]


class AdamStep(NamedTuple):
    """One step of Adam (Kingma, Ba 2015) with its usual constants."""

    scale: np.float32  # of the gradients: 1 / samples of the batch
    rate: np.float32  # learning rate over the correction of the first moment's bias
    second: np.float32  # one over the correction of the second moment's bias


class Weights(NamedTuple):
    """An array of weights with its moments, all of one shape, and what the forward pass uses."""

    value: Floats
    mean: Floats
    square: Floats
    used: Floats  # `value` itself, or `value` rounded to steps of 1 / `grid`
    limit: np.float32  # largest size of a weight
    grid: np.float32  # 0: not rounded


_BETA1 = np.float32(0.9)
_BETA2 = np.float32(0.999)
_REST1 = np.float32(1.0) - _BETA1
_REST2 = np.float32(1.0) - _BETA2
_EPSILON = np.float32(1e-8)
_ZERO = np.float32(0.0)
_ONE = np.float32(1.0)
_CLIP = np.float32(CLIP)


def adam_step(count: int, samples: int, rate: float) -> AdamStep:
    """Step `count` (from 1) on a batch of `samples` gradients."""
    return AdamStep(
        np.float32(1.0 / samples),
        np.float32(rate / (1.0 - float(_BETA1) ** count)),
        np.float32(1.0 / (1.0 - float(_BETA2) ** count)),
    )


@njit(inline="always")
def _add_rows(table, used, n, out):
    """out += the sum of n rows of the table, eight at a time."""
    width = out.shape[0]
    k = 0
    while k + 8 <= n:
        a, b, c, d = table[used[k]], table[used[k + 1]], table[used[k + 2]], table[used[k + 3]]
        e, f, g, h = table[used[k + 4]], table[used[k + 5]], table[used[k + 6]], table[used[k + 7]]
        for j in range(width):
            out[j] += ((a[j] + b[j]) + (c[j] + d[j])) + ((e[j] + f[j]) + (g[j] + h[j]))
        k += 8
    while k < n:
        a = table[used[k]]
        for j in range(width):
            out[j] += a[j]
        k += 1


@njit(nogil=True, fastmath=True, error_model="numpy", cache=True)
def first_layer(rows, first_row, table, bias, active):
    """`active` (float32[N, H], out): the clipped sums of samples of one class, whose rows (int32[N, W], 0 = none) count
    from `first_row` of the table.
    """
    used = np.empty(rows.shape[1], dtype=np.int64)
    for i in range(rows.shape[0]):
        n = 0
        for k in range(rows.shape[1]):
            row = rows[i, k]
            if row != 0:
                used[n] = first_row + row
                n += 1
        sums = active[i]
        sums[:] = bias
        _add_rows(table, used, n, sums)
        for j in range(sums.shape[0]):
            sums[j] = min(max(sums[j], _ZERO), _CLIP)


@njit(nogil=True, fastmath=True, error_model="numpy", cache=True)
def head(units, last, last_bias, targets, hidden, logits, losses):
    """From the second layer of samples of one class to the loss and back.

    Args:
        units: float32[N, S], the second layer before its activation; out: the loss's gradient by it.
        last: float32[S - 5, 5]. last_bias: float32[5]. targets: float32[N, 5].
        hidden: float32[N, S - 5], out: the second layer's hidden units after their activation.
        logits: float32[N, 5], out: the loss's gradient by the logits.
        losses: float64[N], out: the five binary cross-entropies of each sample, summed.
    """
    direct = last.shape[0]
    turned = np.ascontiguousarray(last.T)
    for i in range(units.shape[0]):
        for s in range(direct):
            hidden[i, s] = min(max(units[i, s], _ZERO), _CLIP)
        loss = 0.0
        for o in range(OUTCOMES):
            logit = last_bias[o] + units[i, direct + o]
            for s in range(direct):
                logit += hidden[i, s] * turned[o, s]
            target = targets[i, o]
            small = np.exp(-abs(logit))
            p = _ONE / (_ONE + small) if logit >= _ZERO else small / (_ONE + small)
            loss += max(logit, _ZERO) - logit * target + np.log(_ONE + small)
            logits[i, o] = p - target
            units[i, direct + o] = p - target
        losses[i] = loss
        for s in range(direct):
            on = units[i, s] > _ZERO and units[i, s] < _CLIP
            value = _ZERO
            for o in range(OUTCOMES):
                value += logits[i, o] * turned[o, s]
            units[i, s] = value if on else _ZERO


@njit(nogil=True, fastmath=True, error_model="numpy", cache=True)
def through_clip(active, back):
    """The gradient by the clipped sums (`back`, float32[N, H]) becomes that by the sums themselves."""
    for i in range(active.shape[0]):
        for j in range(active.shape[1]):
            inside = active[i, j] > _ZERO and active[i, j] < _CLIP
            back[i, j] = back[i, j] if inside else _ZERO


@njit(nogil=True, cache=True)
def sort_by_row(rows, tables, period, starts, users):
    """For every row of the table the samples that use it, in their order (a counting sort).

    Args:
        rows: int32[N, W]. tables: int64[N], which table. period: rows of a table. starts: int64[rows of all + 1], out:
            where the samples of a row begin in `users` (int32[N * W], out).
    """
    starts[:] = 0
    for i in range(rows.shape[0]):
        base = tables[i] * period + 1
        for k in range(rows.shape[1]):
            row = rows[i, k]
            if row != 0:
                starts[base + row] += 1
    for r in range(1, starts.shape[0]):
        starts[r] += starts[r - 1]
    for i in range(rows.shape[0]):
        base = tables[i] * period
        for k in range(rows.shape[1]):
            row = rows[i, k]
            if row != 0:
                users[starts[base + row]] = i
                starts[base + row] += 1
    # Each start has moved to its end: move them back.
    for r in range(starts.shape[0] - 1, 0, -1):
        starts[r] = starts[r - 1]
    starts[0] = 0


@njit(inline="always")
def _adam(value, mean, square, used, gradient, step, limit, grid):
    for j in range(value.shape[0]):
        x = gradient[j] * step.scale
        m = _BETA1 * mean[j] + _REST1 * x
        v = _BETA2 * square[j] + _REST2 * x * x
        mean[j] = m
        square[j] = v
        value[j] = min(max(value[j] - step.rate * m / (np.sqrt(v * step.second) + _EPSILON), -limit), limit)
    if grid > _ZERO:
        for j in range(value.shape[0]):
            used[j] = np.rint(value[j] * grid) / grid


@njit(nogil=True, fastmath=True, error_model="numpy", cache=True)
def fit_rows(first, end, back, starts, users, w, step):
    """Gradients and Adam of rows `first .. end - 1` of the table, as far as a sample uses them.

    Args:
        back: float32[N, H], the gradient by the first layer's sums. starts, users: from `sort_by_row`. w: `Weights`
            [rows of the table, H].
    """
    gradient = np.empty(back.shape[1], dtype=np.float32)
    which = np.empty(back.shape[0], dtype=np.int64)
    for row in range(first, end):
        n = starts[row + 1] - starts[row]
        if n == 0:
            continue
        for k in range(n):
            which[k] = users[starts[row] + k]
        gradient[:] = _ZERO
        _add_rows(back, which, n, gradient)
        _adam(w.value[row], w.mean[row], w.square[row], w.used[row], gradient, step, w.limit, w.grid)


@njit(nogil=True, fastmath=True, error_model="numpy", cache=True)
def fit_array(gradient, w, step):
    """Adam of a whole array; `gradient` and `w` are flat."""
    _adam(w.value, w.mean, w.square, w.used, gradient, step, w.limit, w.grid)
