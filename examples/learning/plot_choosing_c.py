"""
Choosing C along a path
=======================

``c_path`` fits a classifier for many values of C by cross-validation. Rows are hashed once, and
each fit starts from where the fits before it point, so that the whole path costs little more
than its most expensive value.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import rotate
from sklearn.datasets import load_digits

import corekernels as ck

digits, rng = load_digits(), np.random.default_rng(0)
images = np.pad(digits.images, ((0, 0), (2, 2), (2, 2)))  # room for the corners
turned = [rotate(image, rng.uniform(0, 360), order=1, reshape=False) for image in images]
X, y = np.reshape(turned, (len(images), -1)), digits.target
train, test = slice(0, 1200), slice(1200, None)
Cs = np.logspace(-3, 2, 11)

figure, axes = plt.subplots(figsize=(8, 4.6), layout="constrained")
for n_hashes, colour in ((64, "tab:green"), (256, "tab:blue"), (1024, "tab:orange")):
    S = ck.CoREHasher("core1", n_hashes, random_state=0).fit(X).sketch(X)
    model = ck.linear.HashedLinearClassifier(random_state=0)
    path = ck.linear.c_path(S[train], y[train], Cs, model=model, cv=3)
    mean, error = 100 * path.mean, 100 * path.standard_error
    axes.semilogx(Cs, mean, "o-", color=colour, label=f"k = {n_hashes}")
    axes.fill_between(Cs, mean - error, mean + error, color=colour, alpha=0.2, linewidth=0)
    held_out = 100 * path.best_model.score(S[test], y[test])
    axes.plot(path.best_C, mean.max(), "*", ms=15, color=colour, markeredgecolor="white")
    print(f"k = {n_hashes:4d}: best C {path.best_C:.3g}, accuracy on unseen rows {held_out:.1f} %")
axes.set(title="Turned digits: accuracy over C, best values starred", xlabel="C (no unit)")
axes.set_ylabel("accuracy in 3-fold cross-validation, %\n(band: one standard error)")
axes.grid(alpha=0.3)
axes.legend(loc="lower right", title="number of hashes")
plt.show()
