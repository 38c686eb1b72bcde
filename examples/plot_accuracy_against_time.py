"""
Accuracy against time, on handwritten digits
============================================

A linear model is fast and misses what a kernel machine sees; the kernel machine's cost
grows with the square of the number of rows. `CoREClassifier` hashes each row once and
learns from the hashes: accuracy rises with the number of hashes, at a linear cost. Digits are
few: here the exact kernel machines are still the best choice, and fast.
"""

import sys
import time

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize
from sklearn.svm import SVC, LinearSVC

import corekernels as ck

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(normalize(X), y, random_state=0)
ck.CoREClassifier(n_hashes=64, random_state=0).fit(X_train, y_train).predict(X_test)
ck.core1(X_train[:9])  # from here on everything is compiled


def measure(model):
    """Seconds for training and test together, and accuracy in percent."""
    start = time.perf_counter()
    accuracy = model.fit(X_train, y_train).score(X_test, y_test)
    return time.perf_counter() - start, 100 * accuracy


curves = {
    "CoREClassifier": [
        (f"k={k}", ck.CoREClassifier("core1", k, random_state=0)) for k in (128, 512, 2048, 8192)
    ],
    "Nystroem(core1) + LinearSVC": [
        (
            f"m={m}",
            make_pipeline(
                Nystroem(kernel=ck.core1, n_components=m, random_state=0),
                LinearSVC(C=10, dual=False),
            ),
        )
        for m in (50, 200)
    ],
    "SVC(core1), exact": [("", SVC(kernel=ck.core1, C=10))],
    "SVC(RBF)": [("", SVC(C=10, gamma=4.0))],
    "LinearSVC": [("", LinearSVC(random_state=0))],
}

figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
for name, models in curves.items():
    points = [measure(model) for _, model in models]
    axes.plot(*zip(*points, strict=True), "o-", label=name)
    for (label, _), point in zip(models, points, strict=True):
        axes.annotate(label, point, xytext=(4, -10), textcoords="offset points", fontsize=8)
        print(f"{name:28s} {label:7s} {point[0]:6.2f} s  {point[1]:5.1f} %")

axes.set(xscale="log", xlabel="seconds, training and test", ylabel="accuracy on test rows (%)")
axes.set_title(f"Digits: {len(X_train)} training rows")
axes.legend()
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=120)
else:
    plt.show()
