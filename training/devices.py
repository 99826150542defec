"""Where a net is fitted: by the compiled loops on a CPU, or by Torch on GPUs."""

from __future__ import annotations

import enum

import torch

from engine.errors import InputError
from engine.weights import NetKind
from training.fitter import CpuFitter, Fitter
from training.inputs import Module
from training.torch_fitter import TorchFitter


class Device(enum.Enum):
    """What fits."""

    AUTO = "auto"
    """GPUs where there are some, else the CPU."""
    CPU = "cpu"
    CUDA = "cuda"
    """All visible GPUs."""


def make_fitter(module: Module, kind: NetKind, device: Device, threads: int) -> Fitter:
    """A fitter of a module; `threads` matters on a CPU only, and there not for the bits.

    Raises:
        InputError: GPUs are asked for, and Torch finds none.
    """
    found = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device is Device.CUDA and not found:
        raise InputError("device", device.value, "cpu or auto: Torch finds no GPU")
    if found and device is not Device.CPU:
        return TorchFitter(module, [torch.device("cuda", k) for k in range(found)])
    # Torch's own threads would change the order of its sums.
    torch.set_num_threads(1)
    return CpuFitter(module, kind, threads)
