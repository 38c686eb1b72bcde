"""Signatures as sparse rows for linear models, in threads."""

from typing import Any

import numpy as np
from scipy import sparse

from .._core.arguments import Array
from .._core.team import Team
from .._core.validation import read_only
from .._loops.hashing.expansion import expand_rows
from ..recipe import Recipe
from .sketch import loop_slots

_BLOCK_SLOTS = 1 << 17  # expanded at a time


def expand(
    recipe: Recipe, arrays: dict[str, Array], normalize: bool, n_jobs: int | None
) -> sparse.csr_array:
    """Rows of k nonzeros, slot j at column j 2^b + code; empty rows stay empty."""
    k, n_features, lengths = recipe.n_hashes, recipe.n_features, arrays["lengths"]
    rows = np.flatnonzero(lengths)
    index_type: Any = np.int64 if max(n_features, len(rows) * k) >= 2**31 else np.int32
    indptr = np.zeros(len(lengths) + 1, index_type)
    np.cumsum(np.where(lengths > 0, k, 0), out=indptr[1:])
    indices = np.empty((len(rows), k), index_type)
    data = np.empty((len(rows), k), np.float32)
    unit = 1.0 if recipe.weight_rounding is None else recipe.weight_rounding.unit
    arguments = (
        read_only(rows), *loop_slots(arrays), n_features // k, np.float32(unit / np.sqrt(k)),
        normalize, indices, data,
    )  # fmt: skip
    Team(n_jobs).run(expand_rows, arguments, len(rows), max(1, _BLOCK_SLOTS // k))
    shape = (len(lengths), n_features)
    return sparse.csr_array((data.reshape(-1), indices.reshape(-1), indptr), shape=shape)
