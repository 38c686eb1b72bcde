"""The losses, one row and one class at a time: value, best dual step, gap.

With margin m, cost c and dual variable a (the row's share in the plane), the
primal problem is 1/2 |w|^2 + sum of `loss_value`, and w = sum of sign * a * x.
`row_gap` is the Fenchel-Young gap of one row: never negative, and zero exactly
where a is the dual variable that belongs to m. The gaps of all rows sum to the
duality gap of (w, a).

    loss             value                   domain of a
    squared hinge    c max(0, 1 - m)^2       a >= 0
    hinge            c max(0, 1 - m)         0 <= a <= c
    log              c log(1 + exp(-m))      0 < a < c
    squared          c (1 - m)^2             any a         (m = 1 + prediction - target)
"""

import numpy as np

from ..compilation import inlined_loop, inner_loop

SQUARED_HINGE = 0
HINGE = 1
LOG = 2
SQUARED = 3

_NEWTON_STEPS = 50


@inlined_loop
def loss_value(loss, m, c):
    """Loss of a row with margin m."""
    if loss == LOG:
        return c * (np.log1p(np.exp(-abs(m))) + max(0.0, -m))
    short = 1.0 - m
    if loss != SQUARED:
        short = max(0.0, short)
    return c * short if loss == HINGE else c * short * short


@inner_loop
def margin(loss, target, score):
    """The number the losses are functions of."""
    return 1.0 + score - target if loss == SQUARED else target * score


@inlined_loop
def loss_slope(loss, m, c):
    """Derivative of the loss in m; not for the hinge."""
    if loss == LOG:
        return -c / (1.0 + np.exp(m))
    short = 1.0 - m
    return -2.0 * c * (short if loss == SQUARED else max(0.0, short))


@inlined_loop
def loss_curvature(loss, m, c):
    """Second derivative of the loss in m; not for the hinge."""
    if loss == LOG:
        share = 1.0 / (1.0 + np.exp(abs(m)))
        return c * share * (1.0 - share)
    return 2.0 * c if loss == SQUARED or m < 1.0 else 0.0


@inlined_loop(error_model="numpy")
def row_gap(loss, m, c, a, value):
    """What a row adds to the duality gap; the cost c is positive, `value` its loss."""
    if loss == LOG:
        rest = c - a
        entropy = (a * np.log(a / c) if a > 0 else 0.0) + (
            rest * np.log1p(-a / c) if rest > 0 else 0.0
        )
        return max(0.0, value + entropy + a * m)
    gap = value + a * (m - 1.0)
    if loss != HINGE:
        gap += a * (a / (4.0 * c))
    return max(0.0, gap)


@inner_loop(error_model="numpy")
def dual_gradient(loss, m, c, a):
    """Derivative of the dual problem (as a minimum) in a; not for the log loss."""
    return m - 1.0 if loss == HINGE else m - 1.0 + a / (2.0 * c)


@inlined_loop(error_model="numpy")
def best_dual(loss, m, c, a, square):
    """The dual variable that is best while all others stay; `square` is the row's |x|^2."""
    if loss == LOG:
        return _best_logistic(m, c, a, square)
    gradient = dual_gradient(loss, m, c, a)
    if loss == HINGE:
        if square == 0:
            return c if gradient < 0 else 0.0
        return min(max(a - gradient / square, 0.0), c)
    best = a - gradient / (square + 0.5 / c)
    return best if loss == SQUARED else max(best, 0.0)


@inner_loop(error_model="numpy")
def _best_logistic(m, c, a, square):
    """Root of square (b - a) + m + log(b / (c - b)) in b, by Newton steps on t = log(b / (c - b)).

    In t the function rises with a slope between 1 and 1 + square c / 4; the
    bracket keeps steps on the flat parts of the sigmoid from jumping over the root.
    It stays narrow where c is huge: square b is at most 1 below t = -log(square c).
    """
    low, high = -m - square * (c - a), -m + square * a
    if square > 0:
        low = max(low, min(high - 1.0, -np.log(square) - np.log(c)))
    t = np.log(a / (c - a)) if 0 < a < c else 0.5 * (low + high)
    b = a
    for turn in range(_NEWTON_STEPS):
        if turn % 4 == 3 or not low <= t <= high:
            t = 0.5 * (low + high)
        share = 1.0 / (1.0 + np.exp(-t))
        b = c * share
        value = square * (b - a) + m + t
        if abs(value) <= 1e-10 * (1.0 + abs(t)):
            break
        if value > 0:
            high = t
        else:
            low = t
        t -= value / (1.0 + square * b * (1.0 - share))
    return b
