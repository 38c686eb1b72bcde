"""From rows to the arrays of their signatures, in threads.

Threads take blocks of rows from a shared counter until none is left. Blocks with a flaw, such
as unsorted columns or stored zeros, and recipes without tables go through the slower way:
cleaned first, block by block.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from .._core.arguments import Array
from .._core.team import Step, Team
from .._core.threads import row_blocks, run_blocks
from .._core.validation import Rows, clean_rows, raw_rows, read_only
from .._loops.rows import Blocks
from .._loops.simd.halves import write_levels
from ..errors import ParameterError
from ..recipe import Recipe
from .row_hasher import Arrays, Largest, RowHasher, new_task
from .tables import HashTables, hash_tables

_PASS_SLOTS = 1 << 22


def loop_slots(arrays: Mapping[str, Array]) -> tuple[Array, Array | None]:
    """Codes and weights of signatures as loops take them.

    Weights are the bits of halves; None where all are 1. Where code and weight share an integer,
    both are the same array.
    """
    if "slots" in arrays:
        slots = read_only(arrays["slots"])
        return slots, slots
    codes, weights = read_only(arrays["codes"]), arrays.get("weights")
    return codes, None if weights is None else read_only(weights.view(np.uint16))


def codes_of(slots: Array) -> Array:
    """Codes of slots; an array of codes, which is unsigned, is its own."""
    if slots.dtype.kind == "u":
        return slots
    return slots.view(f"u{slots.itemsize}") & ((1 << 4 * slots.itemsize) - 1)


def weights_of(slots: Array, unit: float) -> Array:
    """Weights of slots in single precision; level n stands for 2 n + 1 units."""
    levels = (slots >> 4 * slots.itemsize).astype(np.float32)
    return (2 * levels + 1) * np.float32(unit)


def largest_code(slots: Array) -> int:
    """The largest of all codes, 0 if there are none; slots may be memory-mapped."""
    blocks = row_blocks(0, len(slots), max(1, _PASS_SLOTS // max(1, slots.shape[1])))
    return max((int(codes_of(slots[slice(*block)]).max(initial=0)) for block in blocks), default=0)


def narrow(
    recipe: Recipe, arrays: Mapping[str, Array], n_bits: int, weight_bits: int | None
) -> tuple[Recipe, dict[str, Array]]:
    """The recipe and the arrays with fewer bits; None for as many bits of the weights as before."""
    narrower = _narrower(recipe, n_bits, weight_bits)
    if recipe.n_bits is not None and n_bits > recipe.n_bits:
        raise ParameterError(
            f"n_bits: got {n_bits!r}, only {recipe.n_bits} were kept; hash again for more."
        )
    mask = narrower.code_mask
    if recipe.has_rounded_weights:
        slots = arrays["slots"]
        kept = slots & slots.dtype.type(mask - (1 << recipe.weight_bits))
        return narrower, {**arrays, "slots": kept}
    codes = (arrays["codes"] & arrays["codes"].dtype.type(mask)).astype(narrower.code_type)
    if narrower.has_rounded_weights:
        slots = _rounded(narrower, codes, arrays["weights"])
        return narrower, {"slots": slots, "lengths": arrays["lengths"]}
    return narrower, {**arrays, "codes": codes}


def _narrower(recipe: Recipe, n_bits: int, weight_bits: int | None) -> Recipe:
    """The recipe with fewer bits."""
    if weight_bits is None or weight_bits == recipe.weight_bits:
        return replace(recipe, n_bits=n_bits)
    if recipe.has_rounded_weights:
        raise ParameterError(
            f"weight_bits: got {weight_bits!r}, but weights are rounded to {recipe.weight_bits} "
            "bits already; hash the rows again."
        )
    return replace(recipe, n_bits=n_bits, weight_bits=weight_bits)


def _rounded(recipe: Recipe, codes: Array, weights: Array) -> Array:
    """Slots of codes and weights of half precision."""
    rounding = recipe.weight_rounding
    assert rounding is not None
    slots = codes.astype(recipe.arrays["slots"][0])
    halves = read_only(weights).view(np.uint16).reshape(-1)
    write_levels(halves, np.float32(rounding.per_unit), slots.reshape(-1))
    return slots


BLOCK_NONZEROS = 1 << 15  # of a block, about: small blocks let all threads end together
_BLOCK_SLOTS = 1 << 18
_CLEANED_BLOCKS = 8  # cleaned at a time, each time by a call from Python
_MIXED_ROWS = 1 << 11  # that a thread hashes at a time where there are no tables
_DENSE_VALUES = 1 << 23  # of a dense matrix that are taken together


def hash_matrix(
    matrix: Any,
    recipe: Recipe,
    n_jobs: int | None,
    name: str = "X",
    *,
    tables: HashTables | None = None,
    block_nonzeros: int = BLOCK_NONZEROS,
) -> Arrays:
    """Arrays of the signatures of all rows of what `as_matrix` gave; read block by block."""
    out = empty_arrays(recipe, matrix.shape[0])
    hasher = RowHasher(recipe, hash_tables(recipe) if tables is None else tables)
    team = Team(n_jobs)
    for start, stop in _portions(matrix):
        some = {key: array[start:stop] for key, array in out.items()}
        rows = raw_rows(matrix, name, start, stop, n_jobs)
        cuts = _cuts(rows.indptr, recipe.n_hashes, block_nonzeros)
        flawed = np.arange(len(cuts) - 1)
        if hasher.has_tables and rows.data.dtype in (np.float32, np.float64):
            flawed = _hash_blocks(team, hasher, rows, cuts, some)

        def work(
            blocks: Array, start: int = start, cuts: Array = cuts, some: Arrays = some
        ) -> None:
            first, last = cuts[blocks[0]], cuts[blocks[-1] + 1]
            clean = clean_rows(matrix, name, start + first, start + last)
            hasher.hash(clean, {key: array[first:last] for key, array in some.items()})

        run_blocks(work, _neighbours(flawed), n_jobs)
    return out


def hash_rows(rows: Rows, recipe: Recipe, team: Team) -> Arrays:
    """Arrays of the signatures of rows that are clean already."""
    out = empty_arrays(recipe, len(rows))
    hasher, rows = RowHasher(recipe, hash_tables(recipe)), rows.compact()
    if hasher.has_tables:
        cuts = _cuts(rows.indptr, recipe.n_hashes, BLOCK_NONZEROS)
        _hash_blocks(team, hasher, rows, cuts, out)
        return out

    def work(block: tuple[int, int]) -> None:
        some = slice(*block)
        hasher.hash(rows.block(*block).compact(), {key: out[key][some] for key in out})

    run_blocks(work, row_blocks(0, len(rows), _MIXED_ROWS), team.n_threads)
    return out


def empty_arrays(recipe: Recipe, n_rows: int) -> Arrays:
    """Arrays for the signatures of n rows, not filled yet."""
    return {
        name: np.empty((n_rows, *shape), dtype) for name, (dtype, shape) in recipe.arrays.items()
    }


def require_finite(matrix: Any, n_jobs: int | None, name: str = "X") -> None:
    """Raise unless every value of what `as_matrix` gave can be hashed."""
    n_rows, n_columns = matrix.shape
    if sparse.issparse(matrix):
        cuts = _cuts(matrix.indptr, 1, _CLEANED_BLOCKS * BLOCK_NONZEROS).tolist()
    else:
        cuts = [*range(0, n_rows, max(1, _CLEANED_BLOCKS * BLOCK_NONZEROS // n_columns)), n_rows]
    run_blocks(lambda block: clean_rows(matrix, name, *block), itertools.pairwise(cuts), n_jobs)


def _portions(matrix: Any) -> Iterator[tuple[int, int]]:
    """Ranges of rows whose nonzeros are found together: all of a sparse matrix."""
    n_rows, n_columns = matrix.shape
    size = n_rows if sparse.issparse(matrix) else max(1, _DENSE_VALUES // n_columns)
    for start in range(0, n_rows, max(1, size)):
        yield start, min(start + size, n_rows)


def _cuts(indptr: Array, n_hashes: int, block_nonzeros: int) -> Array:
    """Where blocks of rows begin and end: few slots each, and few nonzeros but for a last row.

    Each row is hashed by itself, so the result does not depend on where they are cut.
    """
    n_rows = len(indptr) - 1
    by_slots = np.arange(0, n_rows, max(1, _BLOCK_SLOTS // n_hashes))
    starts = np.arange(indptr[0], indptr[-1], block_nonzeros, dtype=indptr.dtype)
    by_nonzeros = np.searchsorted(indptr, starts)
    return np.unique(np.concatenate([by_slots, by_nonzeros, [n_rows]]))


def _neighbours(blocks: Array) -> Iterator[Array]:
    """Numbers of blocks, ascending, in runs of neighbours that are cleaned together."""
    for run in np.split(blocks, np.flatnonzero(np.diff(blocks) > 1) + 1):
        for first in range(0, len(run), _CLEANED_BLOCKS):
            yield run[first : first + _CLEANED_BLOCKS]


def _hash_blocks(team: Team, hasher: RowHasher, rows: Rows, cuts: Array, out: Arrays) -> Array:
    """Hash all blocks of rows as they are; the numbers of those that have a flaw."""
    flaws, largest = np.zeros(len(cuts) - 1, np.int64), Largest.of(rows, cuts)

    def make_step(blocks: Blocks) -> Step:
        task = new_task(rows, cuts, blocks.counter, blocks.n_stripes, flaws)
        return hasher.step(task, out, largest)

    team.share(make_step, len(flaws), 1)
    return np.flatnonzero(flaws)
