"""
A map of the digits from their neighbour graph
==============================================

Methods that draw rows on a plane start from the nearest neighbours of each row.
``CoRENeighborsTransformer`` gives them the graph in the space of a CoRE kernel. Here t-SNE of
scikit-learn; UMAP and spectral embedding take the same graph.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE
from sklearn.pipeline import make_pipeline

import corekernels as ck

X, y = load_digits(return_X_y=True)
X, y = X[:1000], y[:1000]
PERPLEXITY = 20
model = make_pipeline(
    ck.CoRENeighborsTransformer("core2", n_neighbors=3 * PERPLEXITY + 1, random_state=0),
    TSNE(metric="precomputed", init="random", perplexity=PERPLEXITY, max_iter=500, random_state=0),
)
places = model.fit_transform(X)

figure, axes = plt.subplots(figsize=(7.5, 6), layout="constrained")
points = axes.scatter(*places.T, c=y, s=14, cmap="tab10", vmin=-0.5, vmax=9.5)
for digit in range(10):
    axes.annotate(
        str(digit), np.median(places[y == digit], axis=0), fontsize=15, fontweight="bold",
        ha="center", va="center", color="#111111",
        bbox={"boxstyle": "circle,pad=0.2", "fc": "#f5f5f5", "ec": "none", "alpha": 0.85},
    )  # fmt: skip
figure.colorbar(points, ticks=range(10), label="digit")
axes.set(title="1,000 digits by t-SNE of their CoRE 2 neighbours", xticks=[], yticks=[])
axes.set(xlabel="first coordinate (no unit)", ylabel="second coordinate (no unit)")
plt.show()
