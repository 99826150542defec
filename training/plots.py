"""Pictures of a training run, for MLflow. Matplotlib is imported when a picture is drawn."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from training.held_out import HeldOut
from training.history import Entry

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def learning_curve(entries: Sequence[Entry]) -> bytes:
    """PNG: loss by generation, and the benchmark where it was taken, with its 95 % interval."""
    scored = [entry for entry in entries if entry.score is not None]
    figure, axes = _figure(2 if scored else 1)
    axes[0].plot([entry.generation for entry in entries], [entry.loss for entry in entries])
    axes[0].set_xlabel("generation")
    axes[0].set_ylabel("loss")
    if scored:
        at = [entry.generation for entry in scored]
        scores = [entry.score for entry in scored if entry.score is not None]
        spread = [[s.meq - s.low for s in scores], [s.high - s.meq for s in scores]]
        axes[1].errorbar(at, [s.meq for s in scores], yerr=spread, marker=".", capsize=2)
        axes[1].set_xlabel("generation")
        axes[1].set_ylabel("mEq per decision, 1-ply")
        axes[1].set_ylim(bottom=0)
    return _png(figure)


def calibration(found: HeldOut) -> bytes:
    """PNG: for each probability, how often it came true against what the net said."""
    figure, axes = _figure(len(found.calibration))
    for ax, (name, one) in zip(axes, found.calibration.items(), strict=True):
        ax.plot([0, 1], [0, 1], linewidth=0.5, color="grey")
        used = one.counts > 0
        ax.plot(one.said[used], one.happened[used], marker=".")
        ax.set_title(f"{name.replace('_', ' ')} (error {one.error:.4f})", fontsize=8)
        ax.set_xlabel("said")
        ax.set_ylabel("happened")
    return _png(figure)


def errors_by_start(found: HeldOut) -> bytes:
    """PNG: mean absolute difference of 1-ply and 2-ply by kind of start."""
    figure, (ax,) = _figure(1)
    ax.barh([kind.value for kind in found.errors], list(found.errors.values()))
    ax.invert_yaxis()
    ax.set_xlabel("mean |1-ply equity - 2-ply equity|")
    return _png(figure)


def _figure(panels: int) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure  # no pyplot: nothing is shown, and no window system is looked for

    figure = Figure(figsize=(4.0 * panels, 3.2), layout="constrained")
    return figure, [figure.add_subplot(1, panels, k + 1) for k in range(panels)]


def _png(figure: Figure) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=110)
    return file.getvalue()
