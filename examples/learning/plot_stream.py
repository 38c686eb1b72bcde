"""
Learning from a stream
======================

Rows that come in batches, and are never seen together, are learned by ``partial_fit``: each batch
is hashed and moves the model. Memory stays that of one batch. Here words of ten topics, generated
so that the topics drift: halfway, what they are about changes, and the stream follows.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.linear_model import SGDClassifier

import corekernels as ck

BATCH, BATCHES, COLUMNS, TOPICS = 200, 60, 3000, 10
rng = np.random.default_rng(0)


def batch(words_of_topic):
    """Documents of 72 words: 12 of the topic, the others of the whole language."""
    y = rng.integers(0, TOPICS, BATCH)
    own = words_of_topic[y[:, None], rng.integers(0, words_of_topic.shape[1], (BATCH, 12))]
    common = rng.zipf(1.3, (BATCH, 60)) % COLUMNS
    words = np.hstack([own, common])
    counts = np.zeros((BATCH, COLUMNS))
    np.add.at(counts, (np.arange(BATCH)[:, None], words), 1)
    return sparse.csr_matrix(counts), y


before, after = (rng.integers(0, COLUMNS, (TOPICS, 120)) for _ in range(2))
models = {
    "CoRE 2, 512 hashes": ck.CoREClassifier("core2", 512, random_state=0),
    "CoRE 2, 64 hashes": ck.CoREClassifier("core2", 64, random_state=0),
    "linear, SGD": SGDClassifier(random_state=0),
}
scores = {name: [] for name in models}
for number in range(BATCHES):
    X, y = batch(before if number < BATCHES // 2 else after)
    for name, model in models.items():
        if number:
            scores[name].append(100 * model.score(X, y))  # before it has seen them
        model.partial_fit(X, y, classes=np.arange(TOPICS))

figure, axes = plt.subplots(figsize=(8, 4.6), layout="constrained")
seen = BATCH * np.arange(1, BATCHES)
for (name, values), colour in zip(
    scores.items(), ("tab:orange", "tab:blue", "tab:gray"), strict=True
):
    axes.plot(seen, values, "-", color=colour, label=name)
axes.axvline(BATCH * BATCHES / 2, color="tab:red", linestyle=":", label="topics change")
axes.set(title="Each batch is predicted before it is learned", xlabel="rows seen so far")
axes.set_ylabel("accuracy on the next 200 rows, %")
axes.grid(alpha=0.3)
axes.legend(loc="lower right")
plt.show()
