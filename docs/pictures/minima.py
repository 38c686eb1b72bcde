"""Minwise hashing: the first nonzero of two rows under random orders of the columns."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle
from themed_figures import darken

N_COLUMNS, N_ORDERS = 16, 6


def draw():
    rng = np.random.default_rng(4)
    u, v = np.zeros((2, N_COLUMNS), bool)
    u[[1, 3, 4, 8, 10, 13]] = True
    v[[1, 3, 8, 9, 10, 13, 15]] = True
    figure, axes = plt.subplots(figsize=(9, 5.2), layout="constrained")
    equal = 0
    for slot in range(N_ORDERS):
        order = rng.permutation(N_COLUMNS)
        firsts = [int(np.argmax(row[order])) for row in (u, v)]
        same = firsts[0] == firsts[1]
        equal += same
        for line, (row, first) in enumerate(zip((u, v), firsts, strict=True)):
            y = -3.2 * slot - line
            for x, column in enumerate(order):
                colour = "tab:gray" if row[column] else "none"
                if x == first:
                    colour = "tab:orange" if same else "tab:blue"
                box = Rectangle((x, y), 0.9, 0.86, fc=colour, ec="tab:gray", lw=0.8)
                axes.add_patch(box)
                shade = "#ffffff" if colour != "none" else "tab:gray"
                axes.text(x + 0.45, y + 0.42, column + 1, ha="center", va="center", fontsize=8,
                          color=shade)  # fmt: skip
            axes.text(-0.4, y + 0.42, "first row" if line == 0 else "second row", ha="right",
                      va="center", fontsize=9)  # fmt: skip
        verdict = "equal" if same else "different"
        axes.text(N_COLUMNS + 0.5, -3.2 * slot, verdict, va="center",
                  color="tab:orange" if same else "tab:blue", fontweight="bold")  # fmt: skip
    union, shared = np.sum(u | v), np.sum(u & v)
    axes.set_title(
        f"Columns in {N_ORDERS} random orders: the first nonzero of both rows is equal in {equal} "
        f"of {N_ORDERS}\n(resemblance {shared} / {union} = {shared / union:.2f})"
    )
    axes.set(xlim=(-3.6, N_COLUMNS + 3), ylim=(-3.2 * N_ORDERS + 1.6, 1.2))
    axes.axis("off")
    return figure


def light():
    draw()


def dark():
    darken(draw())
