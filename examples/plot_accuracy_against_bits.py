"""
Accuracy against hashes and bits
================================

A linear SVM on hashed digits approaches the kernel machine as k, the number of hashes, grows.
Few bits of each location are enough: the digits have 64 columns, so locations are small.
Rows are hashed once for each k; `narrow` keeps fewer of their bits.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize
from sklearn.svm import SVC, LinearSVC

import corekernels as ck

HASHES = (16, 32, 64, 128, 256, 512)
BITS = (1, 2, 4, 8)
KERNELS = {"resemblance": "resemblance", "core1": "CoRE 1", "core2": "CoRE 2"}

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

figure, axes = plt.subplots(1, 3, figsize=(12, 4), sharey=True, layout="constrained")
linear = LinearSVC(random_state=0).fit(normalize(X_train), y_train)
baseline = linear.score(normalize(X_test), y_test)
for axis, (kernel, name) in zip(axes, KERNELS.items(), strict=True):
    accuracy = np.empty((len(BITS), len(HASHES)))
    for column, n_hashes in enumerate(HASHES):
        hasher = ck.CoREHasher(kernel, n_hashes, n_bits=8, random_state=0).fit(X_train)
        train, test = hasher.sketch(X_train), hasher.sketch(X_test)
        for row, n_bits in enumerate(BITS):
            model = LinearSVC(random_state=0).fit(train.narrow(n_bits).to_csr(), y_train)
            accuracy[row, column] = model.score(test.narrow(n_bits).to_csr(), y_test)
    for n_bits, scores, shade in zip(BITS, accuracy, (0.3, 0.5, 0.7, 1.0), strict=True):
        colour = plt.get_cmap("Blues")(shade)
        axis.plot(HASHES, 100 * scores, "o-", color=colour, label=f"b = {n_bits}")
    exact = SVC(kernel=getattr(ck, kernel), C=10).fit(X_train, y_train).score(X_test, y_test)
    axis.axhline(100 * exact, color="tab:orange", linestyle="--", label="kernel SVM")
    axis.axhline(100 * baseline, color="grey", linestyle=":", label="linear SVM")
    axis.set(title=name, xlabel="number of hashes, k", xscale="log", ylim=(70, 100))
    axis.set_xticks(HASHES, [str(k) for k in HASHES], minor=False)
    axis.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    axis.grid(alpha=0.3)
axes[0].set_ylabel("test accuracy, %")
axes[0].legend(loc="lower right")
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=120)
else:
    plt.show()
