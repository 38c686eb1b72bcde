"""Signatures as sparse rows: one nonzero per slot."""

import numpy as np

from ..compilation import ANY_ORDER, inner_loop, loop
from ..rows import taken
from ..simd.halves import code_of, read_weights


@loop
def expand_rows(blocks, n_blocks, rows, codes, weights, n_codes, factor, normalize, indices, data):
    """Columns and values of the slots of some rows: slot j at column j n_codes + code.

    Values are the weights, as they are stored, times `factor`, or divided by the row's norm.
    Without weights (None) all are `factor`.
    """
    for start, stop in taken(blocks, n_blocks):
        for place in range(start, stop):
            mine, columns, values = codes[rows[place]], indices[place], data[place]
            for j in range(mine.shape[0]):
                columns[j] = j * n_codes + np.int64(code_of(mine[j]))
            if weights is None:
                values[:] = factor
            else:
                read_weights(weights, rows[place], 0, values.shape[0], values)
                scale = _inverse_norm(values) if normalize else factor
                for j in range(values.shape[0]):
                    values[j] *= scale


@inner_loop(fastmath=ANY_ORDER)
def _inverse_norm(values):
    """One over the norm of a row; 0 if that is 0."""
    total = 0.0
    for j in range(values.shape[0]):
        total += np.float64(values[j]) * np.float64(values[j])
    return np.float32(1 / np.sqrt(total)) if total > 0 else np.float32(0)
