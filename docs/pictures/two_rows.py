"""Three pairs of rows: what the cosine sees, what the resemblance sees."""

import matplotlib.pyplot as plt
import numpy as np
from themed_figures import darken

import corekernels as ck

PAIRS = {
    "alike in both": ([4, 3, 0, 2, 0, 3, 0, 1], [3, 3, 0, 2, 0, 4, 0, 0]),
    "one large value in common": ([9, 1, 0, 1, 0, 1, 0, 1], [9, 0, 1, 0, 1, 0, 1, 0]),
    "same columns, other values": ([5, 1, 0, 1, 0, 5, 0, 1], [1, 5, 0, 5, 0, 1, 0, 5]),
}


def draw():
    figure, grid = plt.subplots(1, 3, figsize=(11, 3.9), sharey=True, layout="constrained")
    for axes, (title, (u, v)) in zip(grid, PAIRS.items(), strict=True):
        u, v = np.array(u, float), np.array(v, float)
        columns = np.arange(1, len(u) + 1)
        both = (u > 0) & (v > 0)
        axes.bar(columns, u, color=np.where(both, "tab:orange", "tab:gray"))
        axes.bar(columns, -v, color=np.where(both, "tab:orange", "tab:gray"))
        axes.axhline(0, color="black", linewidth=1)
        values = ck.correlation(u, v), ck.resemblance(u, v), ck.core1(u, v)
        text = "cosine {:.2f},  resemblance {:.2f}\nCoRE 1 = {:.2f}".format(*values)
        axes.set(title=title, xlabel=f"column\n\n{text}", xticks=columns, ylim=(-10, 10))
        axes.set_yticks([-8, -4, 0, 4, 8], [8, 4, 0, 4, 8])
    grid[0].set_ylabel("second row  |  first row\n(value)")
    return figure


def light():
    draw()


def dark():
    darken(draw())
