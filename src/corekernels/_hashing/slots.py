"""What signatures hold in their slots: codes and weights, with fewer bits, or as sparse rows."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .._core.arguments import Array
from .._core.team import Team
from .._core.threads import row_blocks
from .._core.validation import read_only
from .._loops.hashing.slots import expand_rows
from .._loops.simd.halves import write_levels
from ..errors import DataError, ParameterError

if TYPE_CHECKING:
    from ..recipe import Recipe

_PASS_SLOTS = 1 << 22
_BLOCK_SLOTS = 1 << 17  # expanded at a time


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


def require_codes(recipe: "Recipe", slots: Array) -> None:
    """Refuse codes that no hasher makes, as a damaged file may hold: they become positions."""
    sketch = recipe.sketch
    most = min(recipe.code_mask, sketch.n_locations - 1)
    n_bits = recipe.weight_bits if recipe.has_rounded_weights else 8 * sketch.code_type.itemsize
    if most < 2**n_bits - 1 and (largest := largest_code(slots)) > most:
        raise DataError(
            f"codes: one is {largest}, and {most} is the highest that this recipe makes; hash the "
            "rows again."
        )


def narrow(
    recipe: "Recipe", arrays: Mapping[str, Array], n_bits: int, weight_bits: int | None
) -> tuple["Recipe", dict[str, Array]]:
    """The recipe and the arrays with fewer bits; None for as many bits of the weights as before."""
    weight_bits = recipe.weight_bits if weight_bits is None else weight_bits
    if recipe.has_rounded_weights and weight_bits != recipe.weight_bits:
        raise ParameterError(
            f"weight_bits: got {weight_bits!r}, but weights are rounded to {recipe.weight_bits} "
            "bits already; hash the rows again."
        )
    narrower = replace(recipe, n_bits=n_bits, weight_bits=weight_bits)
    if recipe.n_bits is not None and n_bits > recipe.n_bits:
        raise ParameterError(
            f"n_bits: got {n_bits!r}, only {recipe.n_bits} were kept; hash again for more."
        )
    mask = narrower.code_mask
    if recipe.has_rounded_weights:
        slots = arrays["slots"]
        kept = slots & slots.dtype.type(mask - (1 << recipe.weight_bits))
        return narrower, {**arrays, "slots": kept}
    codes = arrays["codes"] & arrays["codes"].dtype.type(mask)
    rounding = narrower.weight_rounding
    if rounding is None:
        return narrower, {**arrays, "codes": codes.astype(narrower.sketch.code_type)}
    slots = codes.astype(narrower.sketch.arrays["slots"][0])
    halves = read_only(arrays["weights"]).view(np.uint16).reshape(-1)
    write_levels(halves, np.float32(rounding.per_unit), slots.reshape(-1))
    return narrower, {"slots": slots, "lengths": arrays["lengths"]}


def expand(
    recipe: "Recipe", arrays: Mapping[str, Array], normalize: bool, n_jobs: int | None
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
