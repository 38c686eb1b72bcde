"""One block of a Gram matrix: inner products and shared supports, combined while in cache.

Columns come in two kinds, told apart by `slot[column]`:

- `slot >= 0`: a *dense* column, nonzero in many rows. Its products are left to
  BLAS, its support is bit number `slot` of a bit set.
- `slot < 0`: a *listed* column, nonzero in few rows. List number `~slot` of an
  inverted index holds the rows of Y where it is nonzero, with their values.

Each column is computed in its cheaper way, because real matrices are mixed: in text a hundred
common words carry most shared pairs, in images border pixels are as rare as words. With all columns
in lists text takes more than twice as long and images more than three times (float32). A bit set
counts 32 shared columns in one operation; a product of 0/1 matrices would double the arithmetic.
"""

from typing import NamedTuple

import numpy as np

from .compilation import allocating_loop, inlined_loop, inner_loop, loop
from .kernels import is_bounded, value_from
from .rows import unit_values
from .simd.integers import popcount

NO_EXPONENTIAL = -1.0  # in the place of an exponent


class BlockRows(NamedTuple):
    """A block of rows of X; `values[0]` belongs to `indices[indptr[0]]`."""

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    bits: np.ndarray  # supports in the dense columns


class PanelRows(NamedTuple):
    """A panel of rows of Y."""

    bits: np.ndarray  # supports in the dense columns, word by row
    heads: np.ndarray  # list t is heads[t]:heads[t + 1] of rows and values
    rows: np.ndarray
    values: np.ndarray
    lengths: np.ndarray  # number of nonzeros of each row


@loop
def spread_rows(scaled, indptr, indices, data, slot, out_values, out_dense, out_bits):
    """Values of the rows, `scaled` to length one or not; dense columns, also as bit sets."""
    offset = indptr[0]
    if scaled:
        unit_values(indptr, data, out_values)
    else:
        for p in range(out_values.shape[0]):
            out_values[p] = data[offset + p]
    out_dense[:] = 0
    out_bits[:] = 0
    for row in range(indptr.shape[0] - 1):
        for p in range(indptr[row], indptr[row + 1]):
            s = slot[indices[p]]
            if s >= 0:
                out_dense[row, s] = out_values[p - offset]
                out_bits[row, s >> 5] |= np.uint32(1) << np.uint32(s & 31)


@loop
def invert_listed(indptr, indices, values, slot, out_heads, out_rows, out_values):
    """Inverted index over the listed columns; list t is out_heads[t]:out_heads[t + 1]."""
    offset = indptr[0]
    out_heads[:] = 0
    for p in range(indptr[0], indptr[-1]):
        s = slot[indices[p]]
        if s < 0:
            out_heads[~s + 1] += 1
    for t in range(out_heads.shape[0] - 1):
        out_heads[t + 1] += out_heads[t]
    total = out_heads[-1]
    for row in range(indptr.shape[0] - 2, -1, -1):
        for p in range(indptr[row], indptr[row + 1]):
            s = slot[indices[p]]
            if s < 0:
                out_heads[~s + 1] -= 1
                q = out_heads[~s + 1]
                out_rows[q] = row
                out_values[q] = values[p - offset]
    for t in range(out_heads.shape[0] - 1):
        out_heads[t] = out_heads[t + 1]
    out_heads[-1] = total


@inlined_loop
def count_shared(bits, bits_of_y, out):
    """Number of dense columns that one row shares with each row of Y (bits_of_y: word by row)."""
    out[:] = 0
    for w in range(bits_of_y.shape[0]):
        word = bits[w]
        for j in range(out.shape[0]):
            out[j] += popcount(word & bits_of_y[w, j])


@inlined_loop
def add_listed(with_minima, indices, values, slot, panel, sums, counts):
    """Add one row's listed columns to its inner products and shared supports.

    With minima, smaller magnitudes where signs agree stand in the place of products.
    """
    heads, rows, values_of_y = panel.heads, panel.rows, panel.values
    for p in range(indices.shape[0]):
        s = slot[indices[p]]
        if s < 0:
            value = values[p]
            for q in range(heads[~s], heads[~s + 1]):
                j, other = rows[q], values_of_y[q]
                if not with_minima:
                    sums[j] += value * other
                elif (value > 0) == (other > 0):
                    sums[j] += min(abs(value), abs(other))
                counts[j] += 1


@inner_loop(error_model="numpy")
def finish_row(kernel, exponent, length, lengths_of_y, counts, out):
    """Kernel values from inner products (in `out`) and shared supports, in place.

    `exponent` is the gamma of exp(-gamma (1 - K)), or NO_EXPONENTIAL for K itself. With an empty
    row on either side the value is 0.
    """
    if length == 0:
        out[:] = 0
        return
    number = out.dtype.type
    most = kernel.one if is_bounded(kernel) else number(np.inf)  # rounding exceeds 1
    for j in range(out.shape[0]):
        rho = min(max(out[j], -most), most)
        out[j] = value_from(kernel, rho, number(length), number(lengths_of_y[j]), number(counts[j]))
    if exponent != NO_EXPONENTIAL:
        for j in range(out.shape[0]):
            if lengths_of_y[j] == 0:
                out[j] = 0
            else:
                out[j] = np.exp(-exponent * (kernel.one - out[j]))


@loop
def finish_block(kernel, exponent, block, panel, slot, counts, out, out_mirrored):
    """Turn the dense columns' inner products in `out` into kernel values.

    The transpose of these goes into `out_mirrored`, unless that has no rows.
    """
    indptr, offset = block.indptr, block.indptr[0]
    for row in range(indptr.shape[0] - 1):
        start, stop = indptr[row], indptr[row + 1]
        count_shared(block.bits[row], panel.bits, counts)
        values = block.values[start - offset : stop - offset]
        add_listed(False, block.indices[start:stop], values, slot, panel, out[row], counts)
        finish_row(kernel, exponent, stop - start, panel.lengths, counts, out[row])
    if out_mirrored.shape[0] > 0:
        mirror(out, out_mirrored)


@loop
def sum_block(with_minima, block, panel, slot, counts, out):
    """Add the listed columns to the sums in `out`, and write how many columns rows share."""
    indptr, offset = block.indptr, block.indptr[0]
    for row in range(indptr.shape[0] - 1):
        start, stop = indptr[row], indptr[row + 1]
        count_shared(block.bits[row], panel.bits, counts[row])
        values = block.values[start - offset : stop - offset]
        columns = block.indices[start:stop]
        add_listed(with_minima, columns, values, slot, panel, out[row], counts[row])


@loop
def mirror(block, out):
    """Write the transpose of `block` into `out`, in tiles that stay in the L1 cache."""
    tile = 32
    for i0 in range(0, block.shape[0], tile):
        for j0 in range(0, block.shape[1], tile):
            for j in range(j0, min(j0 + tile, block.shape[1])):
                for i in range(i0, min(i0 + tile, block.shape[0])):
                    out[j, i] = block[i, j]


@loop
def mirror_within(square):
    """Copy the upper triangle of a square block onto its lower one."""
    for i in range(square.shape[0]):
        for j in range(i):
            square[i, j] = square[j, i]


@allocating_loop(error_model="numpy")
def vector_pair(kernel, exponent, x, y, out):
    """Kernel value of two dense vectors, into out[0]; False if a value is not finite."""
    largest_x, largest_y = 0.0, 0.0
    length_x, length_y, shared = 0, 0, 0
    for i in range(x.shape[0]):
        if not (np.isfinite(x[i]) and np.isfinite(y[i])):
            return False
        largest_x = max(largest_x, abs(x[i]))
        largest_y = max(largest_y, abs(y[i]))
        length_x += x[i] != 0
        length_y += y[i] != 0
        shared += x[i] != 0 and y[i] != 0
    squares_x, squares_y, dot = 0.0, 0.0, 0.0
    for i in range(x.shape[0]):
        u, v = x[i] / largest_x, y[i] / largest_y
        squares_x += u * u
        squares_y += v * v
        dot += u * v
    out[0] = dot / np.sqrt(squares_x * squares_y) if length_x and length_y else 0.0
    finish_row(kernel, exponent, length_x, np.array([length_y]), np.array([shared]), out)
    return True
