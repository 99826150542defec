"""All compiled hot code. Everything here is Numba over plain arrays; every kernel has a slow oracle in the tests.

Importing this package fixes where compiled code is kept: under the data folder, in a folder named after the text of all
kernel sources. Numba alone only looks at the file that defines a function, so an edit to a function that others inline
would leave stale machine code behind; with the digest, one set of sources has one set of compiled kernels.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numba

from engine.home import data_home


def source_digest() -> str:
    """Hex digest over the sources of all kernels and the Numba version."""
    digest = hashlib.blake2b(numba.__version__.encode(), digest_size=8)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


if "NUMBA_CACHE_DIR" not in os.environ:
    numba.config.CACHE_DIR = str(data_home() / "kernels" / source_digest())
