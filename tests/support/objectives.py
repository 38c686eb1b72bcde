"""The problems of the linear models once more, densely, in double precision.

`f` are scores, `y` targets (-1 or 1, or values to predict), `c` costs of the rows, `a` dual
variables; `w` includes the weight of the constant column.
"""

import numpy as np


def losses(loss, f, y, c):
    """The loss of each row."""
    short = np.maximum(0, 1 - y * f)
    values = {
        "squared_hinge": short**2,
        "hinge": short,
        "log_loss": np.logaddexp(0, -y * f),
        "squared_error": (y - f) ** 2,
    }
    return c * values[loss]


def primal(loss, w, f, y, c):
    """1/2 |w|^2 + sum of the losses."""
    w = np.asarray(w, np.float64)
    return 0.5 * w @ w + losses(loss, f, y, c).sum()


def dual(loss, w, y, c, a):
    """The dual problem's value; w is the sum of the rows times their dual variables."""
    if loss == "log_loss":
        entropy = a * np.log(a / c) + (c - a) * np.log1p(-a / c)
        return -0.5 * w @ w - entropy.sum()
    linear = (y * a if loss == "squared_error" else a).sum()
    squares = 0 if loss == "hinge" else (a**2 / (4 * c)).sum()
    return linear - squares - 0.5 * w @ w
