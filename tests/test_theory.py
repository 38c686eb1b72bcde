import numpy as np
import pytest

import corekernels as ck
from corekernels import theory

rng = np.random.default_rng(0)


@pytest.mark.parametrize("X", [rng.poisson(0.5, (2, 60)) * rng.normal(size=(2, 60))])
def test_formulas_agree_with_the_kernels(X):
    f1, f2 = (X != 0).sum(axis=1)
    a = (X != 0).all(axis=0).sum()
    rho = ck.correlation(*X)
    R = theory.resemblance(f1, f2, a)
    assert pytest.approx(ck.resemblance(*X)) == R
    assert theory.core1(rho, R) == pytest.approx(ck.core1(*X))
    assert theory.core2(rho, f1, f2, a) == pytest.approx(ck.core2(*X))


def test_binary_rows_make_core2_the_resemblance():
    f1, f2, a = np.array([3, 10, 400]), np.array([5, 10, 2]), np.array([2, 10, 1])
    rho = theory.binary_correlation(f1, f2, a)
    np.testing.assert_allclose(theory.core2(rho, f1, f2, a), theory.resemblance(f1, f2, a))


def test_dense_rows_make_core1_the_correlation():
    assert theory.core1(0.3, theory.resemblance(7, 7, 7)) == 0.3
