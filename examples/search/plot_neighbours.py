"""
Near neighbours, and how near they are
======================================

Six digits and their eight nearest rows among 1,400 others, with the value of the CoRE 1 kernel
above each. Whatever the search method, these values are exact: a method may miss a neighbour, but
never misjudges one.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import corekernels as ck

digits = load_digits()
X, Q = digits.data[:1400], digits.data[1400:1406]
labels, truth = digits.target[:1400], digits.target[1400:1406]
index = ck.CoRENeighbors("core1", n_neighbors=8, random_state=0).fit(X)
distances, found = index.kneighbors(Q)

figure, grid = plt.subplots(6, 9, figsize=(9, 7), layout="constrained")
for line, query, digit, near, gaps in zip(grid, Q, truth, found, distances, strict=True):
    line[0].imshow(query.reshape(8, 8), cmap="Oranges")
    line[0].set_title("query", fontsize=9, fontweight="normal")
    for axes, row, gap in zip(line[1:], near, gaps, strict=True):
        right = labels[row] == digit
        axes.imshow(X[row].reshape(8, 8), cmap="Blues" if right else "Reds")
        axes.set_title(f"{1 - gap:.2f}", fontsize=9, fontweight="normal")
for axes in grid.flat:
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
figure.suptitle("Eight nearest rows and their kernel values (red: of another digit)")
plt.show()
