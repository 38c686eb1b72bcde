"""Signatures as sparse rows for linear models, in threads."""

import numpy as np
from scipy import sparse

from .._core.threads import row_blocks, run_blocks
from .._core.types import Array
from ..recipe import Recipe
from .slots import codes_of, weights_of

_BLOCK_SLOTS = 1 << 16  # expanded at a time, so that they stay in the caches


def expand(
    recipe: Recipe, arrays: dict[str, Array], normalize: bool, n_jobs: int | None
) -> sparse.csr_array:
    """Rows of k nonzeros, slot j at column j 2^b + code; empty rows stay empty."""
    k, n_features, lengths = recipe.n_hashes, recipe.n_features, arrays["lengths"]
    present = np.flatnonzero(lengths)
    index_type = np.int64 if max(n_features, len(present) * k) >= 2**31 else np.int32
    first_columns = np.arange(0, n_features, n_features // k, dtype=index_type)
    indptr = np.zeros(len(lengths) + 1, index_type)
    np.cumsum(np.where(lengths > 0, k, 0), out=indptr[1:])
    indices = np.empty((len(present), k), index_type)
    data = np.empty((len(present), k), np.float32)
    codes = arrays.get("codes", arrays.get("slots"))
    assert codes is not None

    def work(block: tuple[int, int]) -> None:
        target = slice(*block)
        # rows between which none is empty are read in place
        first, last = present[block[0]], present[block[1] - 1] + 1
        rows = slice(first, last) if last - first == block[1] - block[0] else present[target]
        np.add(codes_of(codes[rows]), first_columns, out=indices[target], casting="unsafe")
        _write_values(recipe, arrays, rows, normalize, data[target])

    run_blocks(work, row_blocks(0, len(present), max(1, _BLOCK_SLOTS // k)), n_jobs)
    shape = (len(lengths), n_features)
    return sparse.csr_array((data.reshape(-1), indices.reshape(-1), indptr), shape=shape)


def _write_values(
    recipe: Recipe, arrays: dict[str, Array], rows: slice | Array, normalize: bool, out: Array
) -> None:
    """Weights of some rows over the root of k, or over their norm."""
    rounding, root = recipe.weight_rounding, np.float32(np.sqrt(recipe.n_hashes))
    if "slots" in arrays and rounding is not None:
        out[:] = weights_of(arrays["slots"][rows], rounding.unit)
    elif "weights" in arrays:
        out[:] = arrays["weights"][rows]
    else:
        out[:] = 1 / root
        return
    out /= root
    if normalize:
        norms = np.sqrt(np.einsum("ij,ij->i", out, out, dtype=np.float64))
        out /= np.where(norms > 0, norms, 1).astype(np.float32)[:, None]
