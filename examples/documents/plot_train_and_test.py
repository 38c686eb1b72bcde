"""
Training documents that hold test documents
===========================================

A model that has seen its test set is judged too well. Here pieces of 40 lines, taken from ten
files of Python's own library, are the test set, and the files are the training set. Containment,
the share of the shorter document's n-grams that the longer one has, finds which files hold a test
document, though it is a small part of the file. The resemblance does not see it.
"""

import random
import sysconfig
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import corekernels as ck

library = Path(sysconfig.get_path("stdlib"))
texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(library.glob("*.py"))}
long = [name for name, text in texts.items() if text.count("\n") > 300]
chosen = sorted(random.Random(0).sample(long, 10))
pieces = ["\n".join(texts[name].split("\n")[100:140]) for name in chosen]

shingles = ck.text.Shingles(ngrams=3, weights="binary")
train, test = shingles.fit_transform(list(texts.values())), shingles.transform(pieces)
resemblance = ck.resemblance(train, test)
# f1 + f2 n-grams, of which a are shared: R = a / (f1 + f2 - a)
f1, f2 = np.diff(train.indptr)[:, None], np.diff(test.indptr)
shared = resemblance * (f1 + f2) / (1 + resemblance)
containment = shared / np.maximum(np.minimum(f1, f2), 1)

# %%
# On files larger than memory ``ck.files.near_duplicates(train, 0.8, "containment",
# against=test)`` finds the same pairs, and ``corekernels dedup train.jsonl near.tsv --text body
# --kernel containment --against test.jsonl --keep clean.jsonl`` writes the training set without
# them.

figure, axes = plt.subplots(figsize=(8, 4.6), layout="constrained")
source = np.array([name in chosen for name in texts])
for values, name, marker in ((containment, "containment", "o"), (resemblance, "resemblance", "x")):
    best = values.max(axis=1)
    axes.plot(np.flatnonzero(~source), best[~source], marker, color="tab:gray", ms=4)
    axes.plot(np.flatnonzero(source), best[source], marker, color="tab:orange", ms=8,
              label=f"{name}, file that holds a test document")  # fmt: skip
axes.axhline(0.8, color="tab:red", linestyle=":", label="threshold")
axes.set(
    title=f"{len(texts)} files against 10 pieces of 40 lines",
    xlabel="number of the file, in the order of names",
)
axes.set_ylabel("largest value over the test documents")
axes.legend(loc="center right")
plt.show()
