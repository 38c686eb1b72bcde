"""Rows that pairs connect are the components of a graph, however many pairs are taken at a time."""

import numpy as np
import pytest
from scipy import sparse

from corekernels.neighbors.duplicates import result


@pytest.mark.parametrize("n_pairs", [0, 1, 40, 400])
@pytest.mark.parametrize("together", [7, 1 << 24])
def test_connected_rows_are_the_components(n_pairs, together, monkeypatch):
    monkeypatch.setattr(result, "_PAIRS", together)
    rng = np.random.default_rng(n_pairs)
    pairs = np.sort(rng.choice(300, (n_pairs, 2)) + 10**12, axis=1)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    rows, heads = result.connected_rows(pairs)
    np.testing.assert_array_equal(rows, np.unique(pairs))
    places = np.searchsorted(rows, pairs)
    links = sparse.coo_array((np.ones(len(pairs)), places.T), shape=(len(rows), len(rows)))
    _, labels = sparse.csgraph.connected_components(links, directed=False)
    assert (heads <= np.arange(len(rows))).all()
    members = {frozenset(rows[heads == head].tolist()) for head in np.unique(heads)}
    assert members == {frozenset(rows[labels == label].tolist()) for label in np.unique(labels)}
    assert all(heads[head] == head for head in np.unique(heads))
