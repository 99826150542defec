"""The sparse first layer for training: forward and backward as compiled loops over the rows that occur.

`embedding_sum` of `engine.network` gives the same sums; this one is several times faster on a CPU, because the gradient
goes straight into the table's rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor

from engine.kernels import source_digest as _kernels_first  # noqa: F401  (sets where compiled code is kept)


@njit(cache=True, nogil=True)
def _sum_rows(rows, period, table, sums):
    width = table.shape[1]
    used = np.empty(rows.shape[1] + 4, dtype=np.int64)
    zero = np.int64(rows.shape[1])
    for i in range(rows.shape[0]):
        n = 0
        for k in range(zero):
            row = rows[i, k]
            if row % period != 0:
                used[n] = row
                n += 1
        total = sums[i]
        for j in range(width):
            total[j] = 0.0
        k = 0
        while k + 4 <= n:
            a, b, c, d = table[used[k]], table[used[k + 1]], table[used[k + 2]], table[used[k + 3]]
            for j in range(width):
                total[j] += (a[j] + b[j]) + (c[j] + d[j])
            k += 4
        while k < n:
            a = table[used[k]]
            for j in range(width):
                total[j] += a[j]
            k += 1


@njit(cache=True, nogil=True)
def _spread_rows(rows, period, grad, table_grad):
    width = grad.shape[1]
    for i in range(rows.shape[0]):
        g = grad[i]
        for k in range(rows.shape[1]):
            row = rows[i, k]
            if row % period != 0:
                target = table_grad[row]
                for j in range(width):
                    target[j] += g[j]


class _RowSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, table: Tensor, period: int) -> Tensor:
        sums = torch.empty((rows.shape[0], table.shape[1]))
        _sum_rows(rows.numpy(), period, table.detach().numpy(), sums.numpy())
        ctx.save_for_backward(rows)
        ctx.shape = table.shape
        ctx.period = period
        return sums

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, Tensor, None]:
        (rows,) = ctx.saved_tensors
        table_grad = torch.zeros(ctx.shape)
        _spread_rows(rows.numpy(), ctx.period, grads[0].contiguous().numpy(), table_grad.numpy())
        return None, table_grad, None


class SparseFirstLayer:
    """A `FirstLayer` for CPU training; every `period`-th row of the table is an empty one (it gets no gradient)."""

    def __init__(self, period: int) -> None:
        self.period = period

    def __call__(self, rows: Tensor, table: Tensor) -> Tensor:
        sums: Tensor = _RowSum.apply(rows, table, self.period)
        return sums
