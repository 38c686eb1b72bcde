"""
Accuracy against hashes and bits
================================

Digits turned by random angles: a linear model gets half of them right. On hashed rows, it
approaches the kernel machine as k, the number of hashes, grows. Few bits b of each hash are
enough: images have few columns, so the numbers to tell apart are small.
Rows are hashed once for each k; ``narrow`` keeps fewer of their bits.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import rotate
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize
from sklearn.svm import SVC, LinearSVC

import corekernels as ck

HASHES = (16, 64, 256, 1024)
BITS = (1, 2, 4, 8)
KERNELS = {"resemblance": "resemblance", "core1": "CoRE 1", "core2": "CoRE 2"}

digits, rng = load_digits(), np.random.default_rng(0)
images = np.pad(digits.images, ((0, 0), (2, 2), (2, 2)))  # room for the corners
turned = [rotate(image, rng.uniform(0, 360), order=1, reshape=False) for image in images]
X, y = np.reshape(turned, (len(images), -1)), digits.target
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
linear = LinearSVC(random_state=0).fit(normalize(X_train), y_train)
baseline = linear.score(normalize(X_test), y_test)

figure, grid = plt.subplots(1, 3, figsize=(10, 3.8), sharey=True, layout="constrained")
for axes, (kernel, name) in zip(grid, KERNELS.items(), strict=True):
    accuracy = np.empty((len(BITS), len(HASHES)))
    for column, n_hashes in enumerate(HASHES):
        hasher = ck.CoREHasher(kernel, n_hashes, n_bits=8, random_state=0).fit(X_train)
        train, test = hasher.sketch(X_train), hasher.sketch(X_test)
        for row, n_bits in enumerate(BITS):
            model = ck.linear.HashedLinearClassifier(C=1, random_state=0)
            model.fit(train.narrow(n_bits), y_train)
            accuracy[row, column] = model.score(test.narrow(n_bits), y_test)
    for n_bits, scores, shade in zip(BITS, accuracy, (0.35, 0.5, 0.65, 0.8), strict=True):
        colour = plt.get_cmap("viridis")(1 - shade)
        axes.semilogx(HASHES, 100 * scores, "o-", color=colour, label=f"b = {n_bits}", base=2)
    exact = SVC(kernel=getattr(ck, kernel), C=10).fit(X_train, y_train).score(X_test, y_test)
    axes.axhline(100 * exact, color="tab:orange", linestyle="--", label="exact kernel, SVM")
    axes.axhline(100 * baseline, color="tab:gray", linestyle=":", label="linear SVM")
    axes.set(title=name, xlabel="number of hashes, k", ylim=(20, 80))
    axes.set_xticks(HASHES, [str(k) for k in HASHES])
    axes.grid(alpha=0.3)
grid[0].set_ylabel("test accuracy, %")
grid[2].legend(loc="lower right")
plt.show()
