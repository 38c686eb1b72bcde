import numpy as np
import pytest

import corekernels as ck
from corekernels.errors import ParameterError


@pytest.mark.parametrize("kernel", ["resemblance", "core1", "core2", "core_rbf"])
@pytest.mark.parametrize("n_bits", [1, 8, None])
def test_plan_and_its_inverse(kernel, n_bits):
    wanted = ck.plan(0.04, kernel=kernel, n_bits=n_bits, n_rows=1000)
    assert ck.plan(n_hashes=wanted.n_hashes, kernel=kernel, n_bits=n_bits).error <= 0.04
    assert ck.plan(n_hashes=wanted.n_hashes - 1, kernel=kernel, n_bits=n_bits).error > 0.04


@pytest.mark.parametrize("kernel", ["resemblance", "core1", "core2", "core_rbf"])
@pytest.mark.parametrize("n_bits", [4, 12, None])
@pytest.mark.parametrize("n_columns", [60, 100_000])
def test_forecast_of_bytes_is_what_signatures_take(kernel, n_bits, n_columns):
    X = np.random.default_rng(0).poisson(0.2, (50, n_columns))
    S = ck.CoREHasher(kernel, 33, n_bits=n_bits, random_state=0).fit(X).sketch(X)
    planned = ck.plan(n_hashes=33, kernel=kernel, n_bits=n_bits, n_rows=50, n_columns=n_columns)
    assert planned.n_bytes == S.nbytes


@pytest.mark.parametrize("n_columns", [30, 784, 10**6])
@pytest.mark.parametrize("error", [0.03, 0.06, 0.15])
@pytest.mark.parametrize("length", [20, 300])
def test_no_fewer_hashes_would_do(n_columns, error, length):
    """Although one more hash may be worse, where banks become wider or another one begins."""
    fields = {"kernel": "resemblance", "R": 0.7, "n_columns": n_columns}
    fields["length"] = min(length, n_columns - 10)
    found = ck.plan(error, **fields)
    assert found.error <= error
    assert all(ck.plan(n_hashes=k, **fields).error > error for k in range(1, found.n_hashes))


def test_as_many_banks_of_fewer_slots():
    """640 hashes fill two banks; with one more, banks are wider and the error is larger."""
    fields = {"kernel": "resemblance", "R": 0.7, "length": 300, "n_columns": 10**6}
    assert ck.plan(ck.plan(n_hashes=640, **fields).error, **fields).n_hashes == 640
    assert ck.plan(n_hashes=641, **fields).error > ck.plan(n_hashes=640, **fields).error


def test_a_plan_keeps_its_error():
    """The error is exceeded about as often as the confidence allows."""
    rng = np.random.default_rng(0)
    X = rng.poisson(0.3, (80, 300)) * rng.normal(1, 1, (80, 300))
    i, j = np.triu_indices(80, 1)
    R, rho = ck.resemblance(X)[i, j], ck.correlation(X)[i, j]
    wanted = ck.plan(0.06, kernel="core1", R=R.max(), rho=rho.max(), n_columns=300)
    S = ck.CoREHasher("core1", wanted.n_hashes, random_state=0).fit(X).sketch(X)
    far = np.abs(S.estimate()[i, j] - ck.core1(X)[i, j]) > 0.06
    assert far.mean() <= 0.05


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either error or n_hashes"),
        ({"error": 0.1, "n_hashes": 5}, "either error or n_hashes"),
        ({"error": 0.0}, "error: got"),
        ({"n_hashes": 0}, "n_hashes: got 0"),
        ({"n_hashes": 10.5}, "n_hashes: got 10.5; give an integer"),
        ({"n_hashes": "5"}, "n_hashes: got '5'; give an integer"),
        ({"n_hashes": 5, "length": 100, "n_columns": 64}, "length: got 100; .* to 64"),
        ({"error": 0.1, "confidence": 1.0}, "confidence: got"),
        ({"error": 0.1, "kernel": "rbf"}, "kernel: got 'rbf'"),
    ],
)
def test_plan_refuses(arguments, message):
    with pytest.raises(ParameterError, match=message):
        ck.plan(**arguments)
