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
from numba import njit

SQUARED_HINGE = 0
HINGE = 1
LOG = 2
SQUARED = 3

_NEWTON_STEPS = 50


@njit(nogil=True, cache=True)
def loss_value(loss, m, c):
    """Loss of a row with margin m."""
    if loss == LOG:
        return c * (np.log1p(np.exp(-abs(m))) + max(0.0, -m))
    short = 1.0 - m
    if loss != SQUARED:
        short = max(0.0, short)
    return c * short if loss == HINGE else c * short * short


@njit(nogil=True, cache=True, error_model="numpy")
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


@njit(nogil=True, cache=True, error_model="numpy")
def dual_gradient(loss, m, c, a):
    """Derivative of the dual problem (as a minimum) in a; not for the log loss."""
    return m - 1.0 if loss == HINGE else m - 1.0 + a / (2.0 * c)


@njit(nogil=True, cache=True, error_model="numpy")
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


@njit(nogil=True, cache=True, error_model="numpy")
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


@njit(nogil=True, cache=True, error_model="numpy")
def group_shares(loss, rest, square, positive, negative):
    """The best dual variables of equal rows with targets of both signs, as shares of their costs.

    `rest` is their score without them, `positive` and `negative` are the sums of their costs. All
    rows of one sign have the same share. The score s of the rows and their part t in it belong
    together: s = rest + square t, with t = positive share times positive minus the other.
    """
    if loss == LOG:
        share = _logistic_share(rest, square, positive, negative)
        return share, 1.0 - share
    if loss == HINGE:
        return _hinge_shares(rest, square, positive, negative)
    # a share is 2 max(0, 1 - s) or 2 max(0, 1 + s): three straight pieces
    p, n = 2.0 * square * positive, 2.0 * square * negative
    s = (rest + p - n) / (1.0 + p + n)
    if s < -1.0:
        s = (rest + p) / (1.0 + p)
    elif s > 1.0:
        s = (rest - n) / (1.0 + n)
    return 2.0 * max(0.0, 1.0 - s), 2.0 * max(0.0, 1.0 + s)


@njit(nogil=True, cache=True, error_model="numpy")
def _hinge_shares(rest, square, positive, negative):
    """Both shares are 1 between scores -1 and 1; one falls to 0 at either end."""
    t = positive - negative
    if rest + square * t < -1.0:
        t = min(positive, (-1.0 - rest) / square)
        return 1.0, (positive - t) / negative
    if rest + square * t > 1.0:
        t = max(-negative, (1.0 - rest) / square)
        return (t + negative) / positive, 1.0
    return 1.0, 1.0


@njit(nogil=True, cache=True)
def _logistic_share(rest, square, positive, negative):
    """Share of the positive rows, 1 / (1 + exp(s)), by Newton steps and bisections on s."""
    low, high = rest - square * negative, rest + square * positive
    if square > 0:  # narrower, where costs are huge, for the reason given in `_best_logistic`
        high = min(high, max(rest + 1.0, np.log(square) + np.log(positive)))
        low = max(low, min(rest - 1.0, -np.log(square) - np.log(negative)))
    s = 0.5 * (low + high)
    share = 0.5
    for turn in range(_NEWTON_STEPS):
        share = 1.0 / (1.0 + np.exp(s))
        value = s - rest - square * (positive * share - negative * (1.0 - share))
        if abs(value) <= 1e-10 * (1.0 + abs(s)):
            break
        if value > 0:
            high = s
        else:
            low = s
        s -= value / (1.0 + square * (positive + negative) * share * (1.0 - share))
        if turn % 3 == 2 or not low <= s <= high:
            s = 0.5 * (low + high)
    return share
