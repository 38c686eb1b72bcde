"""Cosines of projections: the weights of kernels that are exponential in rho.

No mathematical library is asked, since they differ in the last digits: a cosine is a polynomial
here, in additions and multiplications that every machine rounds alike.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import inner_loop
from ..simd.halves import to_half

# q times the polynomial in q^2 is sqrt(2) sin(2 pi q) to within 2e-7, for q from -1/4 to 1/4
_C0 = np.float32(8.88576602935791)
_C1 = np.float32(-58.465965270996094)
_C2 = np.float32(115.40332794189453)
_C3 = np.float32(-108.30213165283203)
_C4 = np.float32(56.228885650634766)
_QUARTER = np.float32(0.25)


class Waves(NamedTuple):
    """How projections become angles, counted in turns: times the scale, plus the slot's phase."""

    scale: np.float32
    phases: np.ndarray  # one per slot, from 0 to 1


@inner_loop(error_model="numpy")
def write_cosines(projections, waves, first_slot, out):
    """sqrt(2) times the cosines of the angles, rounded to halves."""
    phases = waves.phases[first_slot : first_slot + projections.shape[0]]
    for p in range(projections.shape[0]):
        turns = projections[p] * waves.scale + phases[p]
        # the cosine of a part of a turn is the sine of what it lacks of a quarter
        q = _QUARTER - abs(turns - np.rint(turns))
        x = q * q
        out[p] = to_half(q * (_C0 + x * (_C1 + x * (_C2 + x * (_C3 + x * _C4)))))
