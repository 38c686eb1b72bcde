"""Files written by the code as it was before the rooms were redesigned still load and answer.

They were made from the rows in `written_before.npz`, which also holds the answers of then.
"""

from pathlib import Path

import numpy as np
import pytest

import corekernels as ck

FOLDER = Path(__file__).parent / "data"


@pytest.fixture(scope="module")
def before():
    return np.load(FOLDER / "written_before.npz")


def test_signatures(before):
    path = FOLDER / "signatures.safetensors"
    S, labels = ck.files.load_signatures(path)
    hashed = ck.CoREHasher("core2", 24, n_bits=6, random_state=5).fit(before["X"])
    again = hashed.sketch(before["X"])
    assert S.recipe == again.recipe
    for name, array in again.arrays().items():
        np.testing.assert_array_equal(getattr(S, name), array)
    np.testing.assert_array_equal(labels, before["labels"])
    reader = ck.files.open_reader(path)
    assert reader.provenance == [ck.io.Origin("rows.svm", 0, 60, one_based=True)]
    estimate, _ = S.estimate_pairs([0, 1, 2], [3, 4, 7])
    np.testing.assert_allclose(estimate, before["estimate"], rtol=1e-12, atol=1e-12)


def test_classifier(before):
    model = ck.CoREClassifier.load(FOLDER / "classifier.safetensors")
    np.testing.assert_array_equal(model.predict(before["X"]), before["predicted"])
    scores = model.decision_function(before["X"][:5])
    np.testing.assert_allclose(scores, before["scores"], rtol=1e-6)  # float32 planes
    assert model.provenance_ == [ck.io.Origin("rows.svm", 0, 60, one_based=False)]


def test_index(before):
    index = ck.CoRENeighbors.load(FOLDER / "graph.safetensors")
    assert index.method_ == "graph"
    distances, ids = index.kneighbors(before["Z"][:6])
    np.testing.assert_array_equal(ids, before["ids"])
    np.testing.assert_allclose(distances, before["distances"], atol=1e-12)
