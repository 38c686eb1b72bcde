"""Signatures with fewer bits of codes and weights, as if hashed that way."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from .._core.types import Array
from .._core.validation import read_only
from .._loops.simd.slots import write_levels
from ..errors import ParameterError
from ..recipe import Recipe


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
