import pytest
from sklearn.datasets import load_digits

import corekernels as ck


@pytest.fixture(scope="session")
def digits():
    """Rows and labels; row 7 is empty."""
    X, y = load_digits(return_X_y=True)
    X[7] = 0
    return X, y


@pytest.fixture(scope="session")
def S(digits):
    """Signatures of the digits."""
    return ck.CoREHasher(n_hashes=128, random_state=0).fit(digits[0]).sketch(digits[0])
