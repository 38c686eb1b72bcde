"""Chance collisions of few columns, exactly: at the overlap that the share of equal codes shows.

`aliasing` takes Pr{codes equal} as a line in R. For few columns and few bits it is a curve.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .._core.types import Array
from .aliasing import Aliasing, exact_alias


class _Curve(NamedTuple):
    """Pr{codes equal} for each overlap that two rows can have, as lines between neighbours.

    `p` are the probabilities; C1 and C2 belong to the lines, one fewer, `first` and `second`
    (see `Aliasing`) to the overlaps.
    """

    p: Array
    C1: Array
    C2: Array
    first: Array
    second: Array


def aliasing_at_share(f1: Any, f2: Any, n_locations: int, b: int, share: Any) -> Aliasing:
    """The constants of `aliasing` where the curve has the observed share of equal codes.

    Pr{codes equal} = C1 + (1 - C2) R holds exactly for two neighbouring overlaps, the share
    between them.

    >>> aliasing_at_share(2, 2, 4, 1, 0.5).collision_probability(1 / 3).round(4)
    np.float64(0.5)
    """
    f1, f2, share = np.broadcast_arrays(f1, f2, share)
    shape, share = share.shape, share.ravel()
    out = np.empty((4, share.size))
    key = f1.ravel() * (n_locations + 1) + f2.ravel()
    order = np.argsort(key, kind="stable")  # pairs of the same two lengths, side by side
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    for mine in np.split(order, starts[1:]):
        f = divmod(int(key[mine[0]]), n_locations + 1)
        curve = _curve(*f, n_locations, b)
        line = np.searchsorted(curve.p[1:-1], share[mine])
        out[0, mine], out[1, mine] = curve.C1[line], curve.C2[line]
        out[2, mine] = np.interp(share[mine], curve.p, curve.first)
        out[3, mine] = np.interp(share[mine], curve.p, curve.second)
    return Aliasing(*(part.reshape(shape)[()] for part in out))


@lru_cache(maxsize=1 << 14)
def _curve(f1: int, f2: int, n: int, b: int) -> _Curve:
    a = np.arange(max(0, f1 + f2 - n), min(f1, f2) + 1)
    union = f1 + f2 - a
    parts = [exact_alias(f - a, np.full(len(a), g), n, b) for f, g in ((f1, f2), (f2, f1))]
    R = a / union
    p = R + parts[0] + parts[1]
    first, second = (
        part * union / np.maximum(f - a, 1) for part, f in zip(parts, (f1, f2), strict=True)
    )
    for part, f in ((first, f1), (second, f2)):  # a row without columns of its own never matters
        part[a == f] = part[-2:][0]
    if len(a) == 1:
        return _Curve(p, p - R, np.zeros(1), first, second)
    slope = np.diff(p) / np.diff(R)
    return _Curve(p, p[:-1] - slope * R[:-1], 1 - slope, first, second)
