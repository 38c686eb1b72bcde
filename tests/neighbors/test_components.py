"""Spanning forests connect what the pairs do, with as few pairs as can be."""

import numpy as np
import pytest
from scipy import sparse

from corekernels.neighbors.duplicates.components import connected_rows, spanning_forest


@pytest.mark.parametrize("n_pairs", [0, 1, 40, 400])
def test_forests_of_pieces_merge_to_the_components_of_all(n_pairs):
    rng = np.random.default_rng(n_pairs)
    pairs = np.sort(rng.choice(300, (n_pairs, 2)) + 10**12, axis=1)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    pieces = [spanning_forest(piece) for piece in np.array_split(pairs, 3)]
    forest = spanning_forest(np.concatenate(pieces))
    np.testing.assert_array_equal(forest, spanning_forest(pairs))
    assert components(forest) == components(pairs)
    assert len(forest) == len(np.unique(pairs)) - len(components(pairs))


def components(pairs):
    if not len(pairs):
        return set()
    rows, heads = connected_rows(pairs)
    mine = {frozenset(rows[heads == head].tolist()) for head in np.unique(heads)}
    places = np.searchsorted(rows, pairs)
    links = sparse.coo_array((np.ones(len(pairs)), places.T), shape=(len(rows), len(rows)))
    _, labels = sparse.csgraph.connected_components(links, directed=False)
    assert mine == {frozenset(rows[labels == label].tolist()) for label in np.unique(labels)}
    return mine
