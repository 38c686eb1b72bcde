"""
Learning from a stream
======================

Rows that come in batches, and are never seen together, are learned by ``partial_fit``: each batch
is hashed and moves the model, and memory stays that of one batch. Here a stream without end:
digits, turned by other angles each time. The linear model soon has learned all it can; models
on hashed rows go on, and further with more hashes.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import rotate
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import normalize

import corekernels as ck

BATCH, BATCHES = 300, 40
digits = load_digits()
images = np.pad(digits.images, ((0, 0), (2, 2), (2, 2)))  # room for the corners
shown, hidden = slice(0, 1200), slice(1200, None)
rng = np.random.default_rng(0)


def turned(chosen):
    """Unit-length rows of images, turned by random angles."""
    images = [rotate(image, rng.uniform(0, 360), order=1, reshape=False) for image in chosen]
    return normalize(np.reshape(images, (len(chosen), -1)))


X_test, y_test = turned(images[hidden]), digits.target[hidden]
models = {
    f"CoRE 1, k = {k}": ck.CoREClassifier("core1", k, random_state=0) for k in (4096, 1024, 256)
}
models["linear"] = SGDClassifier(average=True, random_state=0)
scores = {name: [] for name in models}
for _ in range(BATCHES):
    drawn = rng.integers(0, shown.stop, BATCH)
    X, y = turned(images[drawn]), digits.target[drawn]
    for name, model in models.items():
        model.partial_fit(X, y, classes=np.arange(10))
        scores[name].append(100 * model.score(X_test, y_test))

figure, axes = plt.subplots(figsize=(8, 4.6), layout="constrained")
colours = ("tab:orange", "tab:blue", "tab:green", "tab:gray")
for (name, values), colour in zip(scores.items(), colours, strict=True):
    axes.plot(BATCH * np.arange(1, BATCHES + 1), values, color=colour, label=name)
axes.set(title="A stream of turned digits", xlabel="rows seen so far", ylim=(0, 100))
axes.set_ylabel("accuracy on 597 other digits, %")
axes.grid(alpha=0.3)
axes.legend(loc="lower right")
plt.show()
