"""How projections become the weights of slots: halves, cosines or levels."""

from typing import NamedTuple

import numpy as np

from ..compilation import loop
from ..simd.halves import write_halves, write_levels
from .cosines import write_cosines


class Rounding(NamedTuple):
    """How weights become levels."""

    per_unit: np.float32  # intervals per unit
    halves: np.ndarray  # room for the weights of as many slots as are written together


@loop(inline="always")
def write_weights(projections, waves, rounding, first_slot, out):
    """Projections as halves.

    With `waves`, unless they are None, the cosines of the projections; with `rounding`, unless it
    is None, the levels of the halves, put into slots that have only codes yet.
    """
    if rounding is None:
        _write_halves(projections, waves, first_slot, out)
    else:
        halves = rounding.halves[: projections.shape[0]]
        _write_halves(projections, waves, first_slot, halves)
        write_levels(halves, rounding.per_unit, out)


@loop(inline="always")
def _write_halves(projections, waves, first_slot, out):
    """Projections, or the cosines of them, as halves."""
    if waves is None:
        write_halves(projections, out)
    else:
        write_cosines(projections, waves, first_slot, out)
