"""A kernel from outside the package."""

import corekernels as ck


class MinMax(ck.Kernel):
    """Sum of minima over sum of maxima."""

    name = "min_max"
    term = "minimum"
    unit_diagonal = True

    def value(self, pair):
        return pair.shared / (pair.own1 + pair.own2 - pair.shared)
