"""
Kernels on handwritten digits
=============================

Left and middle: all pairs of 300 images, thirty of each digit, as the cosine ("correlation")
and as the CoRE kernel of type 1 see them. CoRE multiplies the cosine by the overlap of the
pixels in use, so images of different digits fall further apart. Right: test accuracy of an
SVM over its parameter C, each digit against the rest, as the paper's figures draw it.

Needs matplotlib (`pip install "corekernels[plot]"`). Shows the figure, or saves it to the path
given: `python examples/plot_kernels_on_digits.py digits.png`.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

import corekernels as ck

KERNELS = {
    "CoRE 1": (ck.core1, "#d55e00", "o-"),
    "CoRE 2": (ck.core2, "#0072b2", "s-"),
    "linear (correlation)": (ck.correlation, "#555555", "^--"),
    "resemblance": (ck.resemblance, "#009e73", "v--"),
}
Cs = np.logspace(-2, 3, 11)


def draw_pairs(axes, X, y, kernel, title):
    """Kernel values of thirty images of each digit, sorted by digit."""
    rows = np.concatenate([np.flatnonzero(y == digit)[:30] for digit in range(10)])
    K = kernel(X[rows])
    same = y[rows][:, None] == y[rows]
    pairs = ~np.eye(len(rows), dtype=bool)
    image = axes.imshow(K, vmin=0, vmax=1, cmap="magma", interpolation="nearest")
    axes.set(
        title=title,
        xlabel=f"mean {K[same & pairs].mean():.2f} within a digit, {K[~same].mean():.2f} between",
    )
    axes.set_xticks(np.arange(15, 300, 30), range(10))
    axes.set_yticks(np.arange(15, 300, 30), range(10))
    axes.tick_params(length=0)
    return image


def draw_accuracy(axes, X, y):
    """Accuracy over C, on the half of the rows that was not learnt from."""
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.5, stratify=y, random_state=0
    )
    for name, (kernel, colour, style) in KERNELS.items():
        K_train, K_test = kernel(X_train), kernel(X_test, X_train)
        scores = [
            100
            * OneVsRestClassifier(SVC(kernel="precomputed", C=C))
            .fit(K_train, y_train)
            .score(K_test, y_test)
            for C in Cs
        ]
        axes.semilogx(Cs, scores, style, color=colour, ms=5, label=f"{name}: {max(scores):.1f} %")
    axes.set(title="SVM on all ten digits", xlabel="C", ylabel="test accuracy (%)", ylim=(80, 100))
    axes.grid(alpha=0.3)
    axes.legend(title="kernel and its best", loc="lower right", framealpha=0.95)


def main():
    X, y = load_digits(return_X_y=True)
    figure, axes = plt.subplots(1, 3, figsize=(14, 4.6), layout="constrained")
    draw_pairs(axes[0], X, y, ck.correlation, "correlation")
    image = draw_pairs(axes[1], X, y, ck.core1, "CoRE 1")
    figure.colorbar(image, ax=axes[:2], shrink=0.85, label="kernel value")
    draw_accuracy(axes[2], X, y)
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1], dpi=120)
    else:
        plt.show()


if __name__ == "__main__":
    main()
