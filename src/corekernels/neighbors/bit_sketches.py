"""512 bits a row whose Hamming distance follows the kernel.

Bits come from the signatures that the classifier uses: the lowest bit of a minwise location
(two rows differ there the more often the smaller R is), or the sign of a random projection
(the more often the smaller rho is). Supports alone say most where rows are sparse; where they
are dense, R is near 1 and signs have to come in.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .._loops import beam
from .._sketch import sketch
from .._validation import Rows
from ..recipe import Recipe

Array = npt.NDArray[Any]

N_BITS = 512
_BLOCK_ROWS = 1 << 14


def bit_sketches(rows: Rows, n_signs: int, seed: int, n_jobs: int | None) -> Array:
    """Eight 64-bit words a row: 512 - n_signs minwise bits, then n_signs signs."""
    out = np.zeros((len(rows), N_BITS // 64), np.uint64)
    for start in range(0, len(rows), _BLOCK_ROWS):
        block = rows.block(start, min(start + _BLOCK_ROWS, len(rows)))
        target = out[start : start + _BLOCK_ROWS]
        matrix = as_csr(block)
        if n_signs < N_BITS:
            recipe = _recipe("resemblance", N_BITS - n_signs, seed, rows.n_columns)
            beam.pack_bits(sketch(matrix, recipe, n_jobs).codes, 0, target)
        if n_signs:
            recipe = _recipe("core1", n_signs, seed, rows.n_columns)
            beam.pack_signs(sketch(matrix, recipe, n_jobs).weights, N_BITS - n_signs, target)
    return out


def _recipe(kernel: str, n_hashes: int, seed: int, n_columns: int) -> Recipe:
    return Recipe(kernel=kernel, n_hashes=n_hashes, n_bits=1, seed=seed, n_columns=n_columns)


def as_csr(rows: Rows) -> Any:
    """The rows as a SciPy matrix over the same arrays."""
    begin, end = rows.indptr[0], rows.indptr[-1]
    arrays = rows.data[begin:end], rows.indices[begin:end], rows.indptr - begin
    return sparse.csr_array(arrays, shape=(len(rows), rows.n_columns))
