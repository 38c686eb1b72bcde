"""Memory of a kernel matrix and of signatures against the number of rows."""

import matplotlib.pyplot as plt
import numpy as np
from themed_figures import darken

import corekernels as ck


def draw():
    rows = np.logspace(3, 7, 50)
    figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
    axes.loglog(rows, 4 * rows**2, color="tab:blue", label="exact kernel matrix, float32")
    for k, style in ((4096, "-"), (1024, "--"), (256, ":")):
        per_row = ck.Recipe(n_columns=784, n_hashes=k).bytes_per_row
        axes.loglog(rows, per_row * rows, style, color="tab:orange", label=f"signatures, k = {k}")
    axes.axhline(16e9, color="tab:gray", linewidth=1)
    axes.text(1.1e3, 22e9, "16 GB", color="tab:gray")
    ticks = {1e6: "1 MB", 1e9: "1 GB", 1e12: "1 TB", 1e15: "1 PB"}
    axes.set_yticks(list(ticks), ticks.values())
    axes.set(title="What has to be held", xlabel="rows", ylabel="memory", ylim=(1e5, 1e15))
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left")
    return figure


def light():
    draw()


def dark():
    darken(draw())
