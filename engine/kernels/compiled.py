"""How kernels are compiled.

Numba counts references to every array that a function touches, one atomic instruction at a time: in loops that take a
few hundred nanoseconds that was a third of the time. Kernels own nothing, they work on arrays that their caller keeps,
so counting is switched off. Code compiled so can't allocate; what has to is marked `allocating`.
"""

from __future__ import annotations

from numba import njit

kernel = njit(_nrt=False)
"""Called from other kernels."""

inlined = njit(inline="always", _nrt=False)
"""Too small to be called: copied into its callers."""

entry = njit(cache=True, nogil=True, _nrt=False)
"""Called from Python: kept on disk, and other threads run meanwhile."""

allocating = njit(_nrt=True)
"""A kernel with arrays of its own."""
