"""
Which package does this code come from?
=======================================

Pieces of 30 lines of the files of eight packages of Python's own library; files of the test set
are not in the training set. ``Shingles`` makes rows of words and pairs of words, without learning
a vocabulary. On files: ``corekernels train train.csv model.ck --text code --label package``.
"""

import sysconfig
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import confusion_matrix
from sklearn.pipeline import make_pipeline

import corekernels as ck

PACKAGES = ("asyncio", "concurrent", "email", "http", "json", "logging", "multiprocessing", "xml")
LINES = 30
library = Path(sysconfig.get_path("stdlib"))
texts, labels = {"train": [], "test": []}, {"train": [], "test": []}
for package in PACKAGES:
    for number, path in enumerate(sorted((library / package).glob("**/*.py"))):
        lines = path.read_text(encoding="utf-8").split("\n")
        part = "test" if number % 3 == 0 else "train"
        pieces = ["\n".join(lines[at : at + LINES]) for at in range(0, len(lines), LINES)]
        texts[part] += pieces
        labels[part] += [package] * len(pieces)

model = make_pipeline(
    ck.text.Shingles(ngrams=(1, 2)), ck.CoREClassifier("core2", 1024, random_state=0)
)
predicted = model.fit(texts["train"], labels["train"]).predict(texts["test"])
truth = np.array(labels["test"])
accuracy = np.mean(predicted == truth)
most = max(np.mean(truth == package) for package in PACKAGES)

shares = 100 * confusion_matrix(truth, predicted, labels=PACKAGES, normalize="true")
figure, axes = plt.subplots(figsize=(7.5, 6), layout="constrained")
image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=100)
for (i, j), share in np.ndenumerate(shares):
    if share >= 1:
        colour = "#ffffff" if share > 50 else "#111111"
        axes.text(j, i, f"{share:.0f}", ha="center", va="center", color=colour)
axes.set_xticks(range(8), PACKAGES, rotation=45, ha="right")
axes.set_yticks(range(8), PACKAGES)
axes.set(xlabel="predicted package", ylabel="true package")
axes.set_title(f"{accuracy:.0%} of {len(truth)} pieces right; always guessing one: {most:.0%}")
figure.colorbar(image, label="share of the pieces of a package, %")
plt.show()
