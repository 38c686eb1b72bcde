"""Learning from streams."""

import pickle

import numpy as np
import pytest

import corekernels as ck
from corekernels.errors import DataError, ParameterError, RecipeMismatch
from corekernels.linear import HashedLinearClassifier
from corekernels.linear.losses import loss_names


def test_stream_ends_near_the_batch_solution(digits):
    """One pass in ten batches costs three points of accuracy, within the error of paired scores."""
    X, y = digits
    S = ck.CoREHasher(n_hashes=512, random_state=0).fit(X).sketch(X)
    for loss in loss_names("classes"):
        whole = HashedLinearClassifier(loss, random_state=0).fit(S[:1000], y[:1000])
        stream = HashedLinearClassifier(loss, random_state=0)
        for start in range(0, 1000, 100):
            part = slice(start, start + 100)
            stream.partial_fit(S[part], y[part], classes=range(10) if start == 0 else None)
        differ = (stream.predict(S[1000:]) != whole.predict(S[1000:])).mean()
        error = np.sqrt(differ / len(y[1000:]))
        cost = whole.score(S[1000:], y[1000:]) - stream.score(S[1000:], y[1000:])
        assert cost <= 0.03 + 5 * error
        assert differ < 0.1


def test_stream_of_one_batch_is_the_batch_solution(digits, S):
    y = digits[1]
    stream = HashedLinearClassifier(C=0.1, random_state=0).partial_fit(S, y, classes=range(10))
    whole = HashedLinearClassifier(C=0.1, random_state=0).fit(S, y)
    difference = np.linalg.norm(stream.coef_ - whole.coef_) / np.linalg.norm(whole.coef_)
    assert difference < 0.05


def test_stream_goes_on_after_fit(digits, S):
    y = digits[1]
    model = HashedLinearClassifier(random_state=0).fit(S[:800], y[:800])
    before = model.score(S[1000:], y[1000:])
    model.partial_fit(S[800:1000], y[800:1000])
    assert model.score(S[1000:], y[1000:]) >= before - 0.01
    with pytest.raises(DataError, match="row 3 has the label 12"):
        model.partial_fit(S[:4], [0, 1, 2, 12])


def test_streams_are_scored_as_they_are_after_each_batch(digits, S):
    """Scoring keeps a copy of the coefficients, which more learning must not leave behind."""
    y = digits[1]
    model = HashedLinearClassifier(random_state=0)
    model.partial_fit(S[:300], y[:300], classes=np.arange(10))
    before = model.decision_function(S)
    model.partial_fit(S[300:600], y[300:600])
    after = model.decision_function(S)
    fresh = pickle.loads(pickle.dumps(model))
    assert len(pickle.dumps(fresh)) == len(pickle.dumps(model))
    np.testing.assert_array_equal(after, fresh.decision_function(S))
    assert (before != after).any()


def test_streams_are_checked(digits, S):
    X, y = digits
    model = HashedLinearClassifier()
    with pytest.raises(ParameterError, match="classes: None in the first call"):
        model.partial_fit(S, y)
    with pytest.raises(ParameterError, match='"balanced" needs all rows at once'):
        HashedLinearClassifier(class_weight="balanced").partial_fit(S, y, range(10))
    with pytest.raises(DataError, match="row 4 has the label 4, not one of the classes"):
        model.partial_fit(S, y, classes=range(4))
    with pytest.raises(DataError, match="0 sample"):
        model.partial_fit(S[:0], y[:0], classes=range(10))
    model.partial_fit(S, y, classes=range(10))
    with pytest.raises(DataError, match="0 sample"):
        model.partial_fit(S[:0], y[:0])
    with pytest.raises(ParameterError, match="classes: not those of the first call"):
        model.partial_fit(S, y, classes=range(11))
    other = ck.CoREHasher(n_hashes=128, random_state=5).fit(X).sketch(X)
    with pytest.raises(RecipeMismatch):
        model.partial_fit(other, y)
