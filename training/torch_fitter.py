"""Fitting with Torch alone: the module as it is and Torch's Adam, on one or several GPUs (or a CPU, slowly)."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call

from training.inputs import Inputs, Module, forward_inputs
from training.limits import GRIDS, LIMITS


class TorchFitter:
    """See `training.fitter.Fitter`.

    With several devices each batch is cut into equal parts, one a device; their gradients are added on the first in a
    fixed order, and the others get its weights after each step.
    """

    def __init__(self, module: Module, devices: Sequence[torch.device]) -> None:
        self._devices = list(devices)
        self._modules = [copy.deepcopy(module).to(device) for device in self._devices]
        self._named = [dict(one.named_parameters()) for one in self._modules]
        self._optimizer = torch.optim.Adam(self._modules[0].parameters())
        self._rounded = False

    def weights(self) -> Mapping[str, Tensor]:
        """See `Fitter`."""
        return {name: parameter.detach().cpu() for name, parameter in self._named[0].items()}

    @torch.no_grad()
    def changed(self, weights: Mapping[str, Tensor]) -> None:
        """See `Fitter`."""
        for named in self._named:
            for name, parameter in named.items():
                parameter.copy_(weights[name])

    def round_to_grid(self, rounded: bool) -> None:
        """See `Fitter`."""
        self._rounded = rounded

    def state(self) -> dict[str, Tensor]:
        """See `Fitter`."""
        found: dict[str, Tensor] = {"step": torch.tensor(0, dtype=torch.int64)}
        for name, parameter in self._named[0].items():
            entry = self._optimizer.state.get(parameter, {})
            zeros = torch.zeros_like(parameter, device="cpu")
            found[f"{name}.mean"] = entry["exp_avg"].cpu().clone() if entry else zeros
            found[f"{name}.square"] = entry["exp_avg_sq"].cpu().clone() if entry else zeros.clone()
            if entry:
                found["step"] = torch.tensor(int(entry["step"]), dtype=torch.int64)
        return found

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """See `Fitter`."""
        if int(state["step"]) == 0:
            self._optimizer.state.clear()
            return
        for name, parameter in self._named[0].items():
            self._optimizer.state[parameter] = {
                "step": state["step"].float(),
                "exp_avg": state[f"{name}.mean"].to(parameter.device, copy=True),
                "exp_avg_sq": state[f"{name}.square"].to(parameter.device, copy=True),
            }

    def close(self) -> None:
        """See `Fitter`."""

    def step(self, inputs: Inputs, targets: NDArray[np.float32], rate: float) -> float:
        """See `Fitter`."""
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._optimizer.zero_grad(set_to_none=True)
        edges = np.linspace(0, len(targets), len(self._devices) + 1).astype(np.int64).tolist()
        losses = [
            self._loss(k, inputs.part(slice(first, end)), targets[first:end]) / len(targets)
            for k, (first, end) in enumerate(pairwise(edges))
        ]
        for loss in losses:
            loss.backward()  # type: ignore[no-untyped-call]
        self._add_gradients()
        self._optimizer.step()
        self._after_step()
        return sum(float(loss.detach()) for loss in losses)

    def _loss(self, k: int, inputs: Inputs, targets: NDArray[np.float32]) -> Tensor:
        """Sum over samples of the five binary cross-entropies, on device k."""
        rows, classes = forward_inputs(inputs, self._devices[k])
        weights = {name: self._seen(name, parameter) for name, parameter in self._named[k].items()}
        logits = functional_call(self._modules[k], weights, (rows, classes))
        wanted = torch.from_numpy(targets).to(self._devices[k])
        return nn.functional.binary_cross_entropy_with_logits(logits, wanted, reduction="sum")

    def _seen(self, name: str, parameter: Tensor) -> Tensor:
        """What the forward pass sees of a parameter; gradients go straight through the rounding."""
        if not self._rounded:
            return parameter
        return parameter + ((parameter * GRIDS[name]).round() / GRIDS[name] - parameter).detach()

    @torch.no_grad()
    def _add_gradients(self) -> None:
        for name, parameter in self._named[0].items():
            for named in self._named[1:]:
                other = named[name]
                assert parameter.grad is not None
                assert other.grad is not None
                parameter.grad += other.grad.to(parameter.device)
                other.grad = None

    @torch.no_grad()
    def _after_step(self) -> None:
        for name, parameter in self._named[0].items():
            parameter.clamp_(-LIMITS[name], LIMITS[name])
        self._modules[0].keep_empty_rows_zero()
        for named in self._named[1:]:
            for name, parameter in named.items():
                parameter.copy_(self._named[0][name])
