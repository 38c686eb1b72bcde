"""Estimates from hashes beside the kernel values themselves."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from themed_figures import darken

import corekernels as ck


def draw():
    X = load_digits().data
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, len(X), (2, 400))
    exact = ck.core1(X)[i, j]
    figure, grid = plt.subplots(1, 3, figsize=(11, 3.9), sharey=True, layout="constrained")
    for axes, k in zip(grid, (64, 512, 4096), strict=True):
        S = ck.CoREHasher("core1", k, random_state=0).fit(X).sketch(X)
        estimate, error = S.estimate_pairs(i, j)
        axes.errorbar(exact, estimate, 1.96 * error, fmt="o", ms=3, lw=0.7, color="tab:orange")
        axes.plot([0, 1], [0, 1], color="black", linewidth=1)
        title = f"k = {k}: {S.nbytes // len(S):,} bytes per row"
        axes.set(title=title, xlabel="CoRE 1, exact")
        axes.grid(alpha=0.3)
    grid[0].set_ylabel("estimated from k hashes, ± 95 %")
    return figure


def light():
    draw()


def dark():
    darken(draw())
