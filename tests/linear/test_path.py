"""Paths over C."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from corekernels.errors import DataError, ParameterError
from corekernels.linear import HashedLinearClassifier, HashedLinearRegressor, c_path
from corekernels.linear.losses import loss_names


def test_c_path(digits, S):
    y = digits[1]
    Cs = [1.0, 0.01, 0.1]
    model = HashedLinearClassifier(random_state=0)
    path = c_path(S[:1200], y[:1200], Cs, model=model, validation=(S[1200:], y[1200:]))
    for C, score in zip(Cs, path.mean, strict=True):
        cold = clone(model).set_params(C=C).fit(S[:1200], y[:1200])
        assert score == pytest.approx(cold.score(S[1200:], y[1200:]), abs=0.01)
    assert path.best_C == Cs[path.mean.argmax()]
    assert path.best_model.dual_gap_.max() <= model.tol
    best = clone(model).set_params(C=path.best_C).fit(S[:1200], y[:1200])
    assert (best.predict(S) == path.best_model.predict(S)).mean() > 0.995
    p = path.mean
    np.testing.assert_allclose(path.standard_error, np.sqrt(p * (1 - p) / (len(S) - 1200)))


def test_c_path_takes_folds_as_scikit_learn_does(digits, S):
    y = digits[1]
    model = HashedLinearClassifier(random_state=0)
    rows = np.arange(300)
    parts = [(rows[rows % 3 != part], rows[rows % 3 == part]) for part in range(3)]
    paths = [
        c_path(S[:300], y[:300], [0.1, 1], model=model, cv=cv)
        for cv in (
            parts,
            [(train.tolist(), test.tolist()) for train, test in parts],
            [(np.isin(rows, train), np.isin(rows, test)) for train, test in parts],
        )
    ]
    for path in paths[1:]:
        np.testing.assert_array_equal(path.scores, paths[0].scores)
    one = c_path(S[:300], y[:300], [0.1, 1], model=model, cv=parts[:1])
    np.testing.assert_array_equal(one.scores[:, 0], paths[0].scores[:, 0])
    assert np.isnan(one.standard_error).all()
    for cv in ([], [(rows, rows[:0])], [([0, 1], [900])]):
        with pytest.raises(ParameterError, match="cv: "):
            c_path(S[:300], y[:300], [1.0], model=model, cv=cv)
    with pytest.raises(DataError, match="validation: has no rows"):
        c_path(S[:300], y[:300], [1.0], model=model, validation=(S[:0], y[:0]))


def test_c_path_takes_the_smallest_of_equal_Cs(digits, S):
    """Rows that any C tells apart, so that all accuracies are 1, whatever their order in a mean."""
    y = (digits[1][:300] == 0).astype(int)
    path = c_path(S[:300], y, [1.0, 0.1, 1.0, 10], cv=5)
    best = path.mean.max()
    assert path.best_C == min(C for C, mean in zip(path.Cs, path.mean, strict=True) if mean == best)
    np.testing.assert_array_equal(path.scores[0], path.scores[2])


@pytest.mark.parametrize("loss", loss_names("classes"))
def test_c_path_reads_accuracies_that_have_settled(digits, S, loss):
    """Within one standard error of the solution's own; half of one is the largest ever measured."""
    y = digits[1]
    model = HashedLinearClassifier(loss, random_state=0, tol=1e-4, max_iter=5000)
    loose, tight = (
        c_path(S[:900], y[:900], np.geomspace(0.02, 2, 5), model=model,
               validation=(S[900:], y[900:]), path_tol=path_tol)
        for path_tol in (1e-2, 1e-6)
    )  # fmt: skip
    assert (abs(loose.mean - tight.mean) <= tight.standard_error).all()
    assert loose.n_iter.sum() < tight.n_iter.sum()
    assert loose.best_model.dual_gap_.max() <= model.tol


@pytest.mark.parametrize("n_classes", [2, 10])
def test_c_path_by_folds_does_not_depend_on_threads(digits, S, n_classes):
    y = digits[1] % n_classes
    paths = [
        c_path(S, y, [0.01, 0.1], cv=3, model=HashedLinearClassifier(random_state=0, n_jobs=n_jobs))
        for n_jobs in (1, 2)
    ]
    assert paths[0].scores.shape == (2, 3)
    np.testing.assert_array_equal(paths[0].scores, paths[1].scores)
    np.testing.assert_array_equal(paths[0].best_model.coef_, paths[1].best_model.coef_)


def test_Cs_are_checked(digits, S):
    with pytest.raises(ParameterError, match="Cs: got no value"):
        c_path(S, digits[1], [])
    with pytest.raises(ParameterError, match="Cs: got -1"):
        c_path(S, digits[1], [1, -1])
    with pytest.raises(ParameterError, match="path_tol: got 0"):
        c_path(S, digits[1], [1], path_tol=0)


def test_warning_says_what_to_change(digits, S):
    model = HashedLinearClassifier(C=100, max_iter=2)
    with pytest.warns(ConvergenceWarning, match=r"for (path_)?tol=.*raise max_iter or (path_)?tol"):
        c_path(S, digits[1], [100], model=model, validation=(S, digits[1]))


def test_progress_is_shown_if_asked_for(digits, S, capsys):
    c_path(S[:300], digits[1][:300], [0.01, 0.1], cv=3, progress=True)
    assert "path over C:   0%|          | 0/6" in capsys.readouterr().err
    c_path(S[:300], digits[1][:300], [0.01, 0.1], cv=3, progress=False)
    assert capsys.readouterr().err == ""


def test_best_model_of_folds_is_that_of_fit(digits, S):
    y = digits[1]
    path = c_path(S, y, [0.01, 0.1], cv=3, model=HashedLinearClassifier(random_state=0))
    fitted = HashedLinearClassifier(C=path.best_C, random_state=0).fit(S, y)
    np.testing.assert_array_equal(path.best_model.coef_, fitted.coef_)
    assert path.best_model.n_iter_ == fitted.n_iter_
    np.testing.assert_array_equal(path.best_model.classes_, fitted.classes_)


def test_a_path_of_regressors_is_refused(digits, S):
    with pytest.raises(ParameterError, match="model: got HashedLinearRegressor; give"):
        c_path(S, digits[1], [1.0], model=HashedLinearRegressor())
