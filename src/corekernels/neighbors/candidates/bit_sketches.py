"""512 bits per row whose Hamming distance follows the kernel.

Bits come from the signatures that the classifier uses: the lowest bit of a minwise location
(two rows differ there the more often the smaller R is), or the sign of a random projection
(the more often the smaller rho is). Supports alone say most where rows are sparse; where they
are dense, R is near 1 and signs have to come in.
"""

from functools import lru_cache

import numpy as np

from ..._core.threads import row_blocks, run_blocks
from ..._core.types import Array
from ..._core.validation import Rows
from ..._loops.search import graph as loops
from ...kernel_table import CORE1, RESEMBLANCE
from ...recipe import Recipe
from ...signatures import sketch_rows

N_BITS = 512
_BLOCK_ROWS = 1 << 11


def bit_sketches(rows: Rows, n_signs: int, seed: int, n_jobs: int | None) -> Array:
    """Eight 64-bit words per row: 512 - n_signs minwise bits, then n_signs signs."""
    out = np.zeros((len(rows), N_BITS // 64), np.uint64)
    n_minima = N_BITS - n_signs

    def work(block: tuple[int, int]) -> None:
        mine, target = rows.block(*block), out[slice(*block)]
        if n_minima:
            S = sketch_rows(mine, _recipe(RESEMBLANCE.name, n_minima, seed, rows.n_columns))
            loops.pack_bits(S.codes, 0, target)
        if n_signs:
            S = sketch_rows(mine, _recipe(CORE1.name, n_signs, seed, rows.n_columns))
            loops.pack_signs(np.asarray(S.weights).view(np.uint16), n_minima, target)

    run_blocks(work, row_blocks(0, len(rows), _BLOCK_ROWS), n_jobs)
    return out


@lru_cache(maxsize=16)
def _recipe(kernel: str, n_hashes: int, seed: int, n_columns: int) -> Recipe:
    return Recipe(kernel=kernel, n_hashes=n_hashes, n_bits=1, seed=seed, n_columns=n_columns)
