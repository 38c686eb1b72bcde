"""
Near neighbours: recall against speed
=====================================

Digits beside their nearest neighbours in the space of CoRE 1, and how many queries a second
the sources answer at which recall, beside pynndescent and hnswlib whose candidates get the
same exact ranking. Set COREKERNELS_DATA to search MNIST (60,000 rows); without it, the small
digits of scikit-learn serve, where exact search is hard to beat.
"""

import os
import sys
import time

import hnswlib
import matplotlib.pyplot as plt
import numpy as np
from pynndescent import NNDescent
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize

import corekernels as ck

K = 10
RECALLS = (0.7, 0.8, 0.9, 0.95, 0.99)

if "COREKERNELS_DATA" in os.environ:
    images, _ = ck.datasets.mnist()
    X, Q = images[:60_000].reshape(60_000, -1), images[60_000:60_500].reshape(500, -1)
else:
    digits = load_digits().data
    X, Q = digits[:1400], digits[1400:]
side = round(X.shape[1] ** 0.5)


def timed(search):
    """What a search finds, and queries a second on one core (the second of two runs counts)."""
    search()
    start = time.process_time()
    found = search()
    return found, len(Q) / (time.process_time() - start)


exact = ck.CoRENeighbors(method="exact", n_jobs=1).fit(X)
(truth, nearest), exact_speed = timed(lambda: exact.kneighbors(Q))


def recall(distances):
    """Share of the true neighbours found, ties counted as equal."""
    return np.mean(distances <= truth[:, -1:] + 1e-9)


def ranked(candidates):
    """Distances of the best candidates, ranked by the kernel itself."""
    rows = []
    for query, mine in zip(Q, candidates, strict=True):
        rows.append(np.sort(1 - ck.core1(query[None].astype(float), X[mine], n_jobs=1)[0])[:K])
    return np.array(rows)


curves = {"exact": [(1.0, exact_speed)]}
for method in ("graph", "lsh"):
    curves[method] = []
    for wanted in RECALLS:
        index = ck.CoRENeighbors(method=method, recall=wanted, n_jobs=1, random_state=0).fit(X)
        (distances, _), speed = timed(lambda index=index: index.kneighbors(Q))
        curves[method].append((recall(distances), speed))

units, queries = normalize(X.astype(np.float32)), normalize(Q.astype(np.float32))
peer = hnswlib.Index(space="ip", dim=X.shape[1])
peer.init_index(max_elements=len(X), M=16, ef_construction=200)
peer.add_items(units)
descent = NNDescent(units, metric="cosine", random_state=0, n_jobs=1)
descent.prepare()
curves["hnswlib, ranked again"], curves["pynndescent, ranked again"] = [], []
for n_candidates in (12, 20, 40, 80):
    peer.set_ef(n_candidates)
    found, speed = timed(lambda n=n_candidates: peer.knn_query(queries, k=n, num_threads=1)[0])
    curves["hnswlib, ranked again"].append((recall(ranked(found.astype(int))), speed))
    found, speed = timed(lambda n=n_candidates: descent.query(queries, k=n, epsilon=0.1)[0])
    curves["pynndescent, ranked again"].append((recall(ranked(found)), speed))

figure, (pictures, plot) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
tiles = []
for query, mine in zip(Q[:6], nearest[:6], strict=True):
    row = np.concatenate([query[None], X[mine]]).reshape(-1, side, side)
    tiles.append(np.hstack(np.pad(row, ((0, 0), (1, 1), (1, 1)))))
pictures.imshow(np.vstack(tiles), cmap="gray_r")
pictures.axvline(side + 1.5, color="tab:orange")
pictures.set(title="queries, and their ten nearest rows", xticks=[], yticks=[])
for name, points in curves.items():
    plot.plot(*np.array(points).T, "o-", label=name)
plot.set(xlabel="recall at 10", ylabel="queries a second, one core", yscale="log")
plot.set_title("peers: time of their candidates alone")
plot.legend()
plot.grid(alpha=0.3)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=120)
else:
    plt.show()
