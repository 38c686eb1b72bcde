import numpy as np
import pytest


@pytest.fixture
def X():
    """Rows of dense and of sparse columns, one of them empty."""
    rng = np.random.default_rng(0)
    X = rng.poisson(0.4, (7, 40)) * rng.normal(size=(7, 40))
    X[:, :4] = rng.normal(size=(7, 4))
    X[5] = 0
    return X
