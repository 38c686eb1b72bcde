"""What a file's rows suggest: the kernel by what the rows are like."""

import numpy as np
import pytest
from scipy import sparse

from corekernels.files.surveys import survey
from support.readers import Rows


def rows_like(density, values):
    rng = np.random.default_rng(0)
    n_columns = 2000 if density < 0.1 else 100
    X = sparse.random_array((60, n_columns), density=density, rng=rng, format="csr")
    X.data = values(rng, len(X.data))
    return X


@pytest.mark.parametrize(
    ("density", "values", "kernel", "reason"),
    [
        (0.01, lambda rng, n: 1 + rng.random(n), "core2", "as in texts"),
        (0.2, lambda rng, n: 1 + rng.random(n), "core1", "both count"),
        (0.2, lambda rng, n: np.exp(5 * rng.normal(size=n)), "core1", "heavy-tailed"),
        (0.01, lambda rng, n: np.ones(n), "resemblance", "all values are equal"),
        (1.0, lambda rng, n: 1 + rng.random(n), "core1", "a linear model may do"),
    ],
)
def test_the_kernel_follows_from_what_rows_are_like(density, values, kernel, reason):
    found = survey(Rows(rows_like(density, values)), progress=False)
    assert found.plan.kernel == kernel
    assert reason in found.reason
