"""
Accuracy against time
=====================

A linear model is fast and misses what a kernel machine sees; the cost of the kernel machine
grows with the square of the number of rows. ``CoREClassifier`` hashes each row once and learns
from the hashes: accuracy rises with the number of hashes, at a linear cost. Digits are few: here
the exact kernel machines are still the best choice, and fast. Hashing pays where their matrix no
longer fits.
"""

import time
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import rotate
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize
from sklearn.svm import SVC, LinearSVC

import corekernels as ck

digits, rng = load_digits(), np.random.default_rng(0)
images = np.pad(digits.images, ((0, 0), (2, 2), (2, 2)))  # room for the corners
turned = [rotate(image, rng.uniform(0, 360), order=1, reshape=False) for image in images]
X, y = np.reshape(turned, (len(images), -1)), digits.target
X_train, X_test, y_train, y_test = train_test_split(normalize(X), y, random_state=0)
ck.CoREClassifier(n_hashes=64, random_state=0).fit(X_train, y_train).predict(X_test)
ck.core1(X_train[:9])  # from here on everything is compiled


def measure(model):
    """Seconds for training and test together, and accuracy in percent."""
    start = time.perf_counter()
    accuracy = model.fit(X_train, y_train).score(X_test, y_test)
    return time.perf_counter() - start, 100 * accuracy


def nystroem(m):
    """A linear model on the similarities to m of the rows."""
    landmarks = Nystroem(kernel=ck.core1, n_components=m, random_state=0)
    return make_pipeline(landmarks, LinearSVC(C=10, dual=False))


curves = {
    "CoREClassifier, CoRE 1": {
        f"k = {k}": ck.CoREClassifier("core1", k, random_state=0) for k in (64, 256, 1024, 4096)
    },
    "CoREClassifier, CoRE RBF": {
        f"k = {k}": ck.CoREClassifier("core_rbf", k, gamma=4, random_state=0)
        for k in (256, 1024, 4096)
    },
    "Nystroem of CoRE 1, LinearSVC": {f"m = {m}": nystroem(m) for m in (30, 90)},
    "SVC, CoRE 1 exact": {"": SVC(kernel=ck.core1, C=10)},
    "SVC, CoRE RBF exact": {"": SVC(kernel=partial(ck.core_rbf, gamma=4.0), C=10)},
    "SVC, Gaussian": {"": SVC(C=10, gamma=4.0)},
    "LinearSVC": {"": LinearSVC(random_state=0)},
}
colours = ("tab:orange", "tab:red", "tab:purple", "tab:orange", "tab:red", "tab:blue", "tab:gray")

figure, axes = plt.subplots(figsize=(9, 4.6), layout="constrained")
for (name, models), colour, marker in zip(curves.items(), colours, "osP*DX^", strict=True):
    points = [measure(model) for model in models.values()]
    axes.plot(*zip(*points, strict=True), marker=marker, color=colour, label=name)
    for label, point in zip(models, points, strict=True):
        axes.annotate(label, point, xytext=(5, -11), textcoords="offset points", fontsize=8)
axes.set(xscale="log", xlabel="time for training and test, seconds", ylabel="test accuracy, %")
axes.set_title(f"Turned digits: {len(X_train)} training rows, {len(X_test)} test rows")
axes.grid(alpha=0.3)
figure.legend(loc="outside right upper")
plt.show()
