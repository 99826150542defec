"""The network as a Torch module: the truth that the compiled integer network is a twin of, and what is trained.

First layer: the sum of one row for every occupied place and every board fact (`engine.kernels.facts`), from one of
three tables (races, contact, late contact); clipped ReLU; 32 units, of which 27 go through a clipped ReLU to the five
logits and five are added to them directly. Every class of position has its own weights above the first layer.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from engine.kernels.facts import CLASSES, ROWS, TABLES, table_of
from engine.kernels.filter import FILTER_ROWS, FILTER_TABLES
from engine.kernels.network import CLIP, DIRECT, SECOND
from engine.outcome import OUTCOMES

TABLE_OF = np.array([table_of.py_func(c) for c in range(CLASSES)], dtype=np.int64)
"""The first layer's table of each class of position."""

FirstLayer = Callable[[Tensor, Tensor], Tensor]
"""(rows int64[N, W] into the table, table float32[TABLES * ROWS, H]) -> float32[N, H]: sums of the rows."""


def embedding_sum(rows: Tensor, table: Tensor) -> Tensor:
    """The plain first layer: Torch's own bag of embeddings."""
    return nn.functional.embedding_bag(rows, table, mode="sum")


class Network(nn.Module):
    """Logits of the five cumulative outcomes of after-positions, from the view of the player who just moved."""

    def __init__(self, width: int, first_layer: FirstLayer = embedding_sum) -> None:
        super().__init__()
        self.width = width
        self.first_layer = first_layer
        self.table = nn.Parameter(torch.zeros(TABLES * ROWS, width))
        self.bias = nn.Parameter(torch.zeros(TABLES, width))
        self.second = nn.Parameter(torch.zeros(CLASSES, width, SECOND))
        self.second_bias = nn.Parameter(torch.zeros(CLASSES, SECOND))
        self.last = nn.Parameter(torch.zeros(CLASSES, SECOND - DIRECT, OUTCOMES))
        self.last_bias = nn.Parameter(torch.zeros(CLASSES, OUTCOMES))

    @torch.no_grad()
    def initialise(self, generator: torch.Generator) -> None:
        """Random start: about forty rows are summed per position, so each is drawn small; class biases centre the
        units.
        """
        self.table.normal_(0.0, 0.1, generator=generator)
        self.bias.uniform_(-0.1, 0.5, generator=generator)
        self.second.normal_(0.0, (2.0 / self.width) ** 0.5, generator=generator)
        self.second[:, :, SECOND - DIRECT :] *= 0.1
        self.last.normal_(0.0, (1.0 / SECOND) ** 0.5, generator=generator)
        # Gammons and backgammons start as the rare events they are.
        self.last_bias.copy_(torch.tensor([0.0, -1.5, -4.0, -1.5, -4.0]).expand_as(self.last_bias))
        self.keep_empty_rows_zero()

    @torch.no_grad()
    def keep_empty_rows_zero(self) -> None:
        """Row 0 of each table stands for an empty place or a fact of value 0 and stays zero."""
        self.table.view(TABLES, ROWS, self.width)[:, 0].zero_()

    def forward(self, rows: Tensor, classes: Tensor) -> Tensor:
        """
        Args:
            rows: int64[N, WIDTH] as `engine.kernels.facts.rows_of` gives them (before the offset of the table).
            classes: int64[N], likewise.

        Returns:
            float32[N, 5] logits.
        """
        tables = torch.from_numpy(TABLE_OF).to(classes.device)[classes]
        sums = self.first_layer(rows + (tables * ROWS).unsqueeze(1), self.table)
        logits = sums.new_empty((rows.shape[0], OUTCOMES))
        for c in range(CLASSES):
            chosen = torch.nonzero(classes == c).squeeze(1)
            if chosen.numel():
                logits[chosen] = self._head(sums[chosen] + self.bias[TABLE_OF[c]], c)
        return logits

    def _head(self, sums: Tensor, c: int) -> Tensor:
        active = sums.clamp(0.0, CLIP)
        units = active @ self.second[c] + self.second_bias[c]
        hidden = units[:, : SECOND - DIRECT].clamp(0.0, CLIP)
        return hidden @ self.last[c] + units[:, SECOND - DIRECT :] + self.last_bias[c]


class FilterNetwork(nn.Module):
    """The filter net (`engine.kernels.filter`): places alone, one hidden layer, logits of the five outcomes."""

    def __init__(self, width: int, first_layer: FirstLayer = embedding_sum) -> None:
        super().__init__()
        self.width = width
        self.first_layer = first_layer
        self.table = nn.Parameter(torch.zeros(FILTER_TABLES * FILTER_ROWS, width))
        self.bias = nn.Parameter(torch.zeros(FILTER_TABLES, width))
        self.last = nn.Parameter(torch.zeros(FILTER_TABLES, width, OUTCOMES))
        self.last_bias = nn.Parameter(torch.zeros(FILTER_TABLES, OUTCOMES))

    @torch.no_grad()
    def initialise(self, generator: torch.Generator) -> None:
        """Random start."""
        self.table.normal_(0.0, 0.15, generator=generator)
        self.bias.uniform_(-0.1, 0.5, generator=generator)
        self.last.normal_(0.0, (1.0 / self.width) ** 0.5, generator=generator)
        self.keep_empty_rows_zero()

    @torch.no_grad()
    def keep_empty_rows_zero(self) -> None:
        """Row 0 of each table stands for an empty place."""
        self.table.view(FILTER_TABLES, FILTER_ROWS, self.width)[:, 0].zero_()

    def forward(self, rows: Tensor, classes: Tensor) -> Tensor:
        """Logits float32[N, 5] from rows int64[N, 26] (places only, before the table's offset) and classes int64[N]."""
        tables = classes.clamp(max=1)
        sums = self.first_layer(rows + (tables * FILTER_ROWS).unsqueeze(1), self.table)
        active = (sums + self.bias[tables]).clamp(0.0, CLIP)
        logits: Tensor = torch.einsum("nw,nwo->no", active, self.last[tables]) + self.last_bias[tables]
        return logits
