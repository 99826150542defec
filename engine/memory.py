"""Arrays as kernels want them."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)

_LINE = 64


def on_cache_lines(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """A copy that starts at a multiple of 64 bytes: a vector that lies across two cache lines takes twice as long to
    load.
    """
    room = np.empty(array.nbytes + _LINE, dtype=np.uint8)
    start = -room.ctypes.data % _LINE
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def writable(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """The array itself if it is contiguous and may be written to, else a copy: for other kinds of arrays a kernel would
    be compiled once more.
    """
    return array if array.flags.writeable and array.flags.c_contiguous else np.array(array, order="C")
