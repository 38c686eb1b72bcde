"""Pickled and copied estimators: the copy works, and so does the original."""

import copy
import pickle

import numpy as np
import pytest

import corekernels as ck
from support.clusters import METHODS, clustered

X = clustered(600, 100, 20)
y = np.arange(600) % 3

COPIES = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
MODELS = {  # estimator, its rows or None for signatures of them, what it computes
    "hasher": (ck.CoREHasher(n_hashes=16), X, "transform"),
    "classifier": (ck.CoREClassifier(n_hashes=16), X, "decision_function"),
    "regressor": (ck.CoRERegressor(n_hashes=16), X, "predict"),
    "linear classifier": (ck.linear.HashedLinearClassifier(), None, "decision_function"),
    "linear regressor": (ck.linear.HashedLinearRegressor(), None, "predict"),
    "transformer": (ck.CoRENeighborsTransformer(n_neighbors=3), X, "transform"),
    **{
        method: (ck.CoRENeighbors(method=method, recall=0.8), X, "kneighbors") for method in METHODS
    },
}


def plain(result):
    if isinstance(result, tuple):
        return np.concatenate([np.ravel(part) for part in result])
    return result if isinstance(result, np.ndarray) else result.toarray()


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("name", MODELS)
def test_copies_and_originals_are_usable(name, how):
    model, rows, method = MODELS[name]
    if rows is None:
        rows = ck.CoREHasher(n_hashes=16, n_bits=4, random_state=0).fit(X).sketch(X)
    model = copy.deepcopy(model).set_params(random_state=0)
    COPIES[how](model)  # not fitted yet
    model.fit(rows, y)
    before = plain(getattr(model, method)(rows[:20]))
    other = COPIES[how](model)
    for one in (model, other):
        np.testing.assert_array_equal(plain(getattr(one, method)(rows[:20])), before)
    if name in METHODS:
        for one in (model, other):
            one.add(X[:5])
            one.remove([0, 1])
            assert one.n_samples_fit_ == 603
    model.fit(rows[:300], y[:300])
    np.testing.assert_array_equal(
        plain(getattr(COPIES[how](model), method)(rows[:20])),
        plain(getattr(model, method)(rows[:20])),
    )
