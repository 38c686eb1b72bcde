"""The loops of Gram matrices on small inputs: also run with NUMBA_DISABLE_JIT=1."""

import numpy as np
import pytest

from corekernels._core.validation import check_pair
from corekernels._exact import Formula, fill_gram, plan_columns, value_of_vectors
from corekernels._loops import gram
from corekernels.kernel_table import KERNELS, exact_kernel
from support import oracles


@pytest.mark.parametrize("name", tuple(KERNELS))
@pytest.mark.parametrize("gamma", [None, 0.3])
@pytest.mark.parametrize("ratio", [0.0, 5.0, 1e9])  # all columns listed, some, none
def test_gram_with_columns_of_both_kinds(X, name, gamma, ratio):
    if gamma and not KERNELS[name].unit_diagonal:
        return  # no exponential variant
    has_gamma = KERNELS[name].gamma is not None  # then it is the kernel's own
    formula = Formula(exact_kernel(name, gamma)) if has_gamma else Formula(KERNELS[name], gamma)
    for Y in (None, X[:3]):
        rows, others = check_pair(X, Y)
        columns = plan_columns(rows, others, ratio)
        out = np.empty((7, 7 if Y is None else 3))
        fill_gram(rows, others, columns, formula, 1, out, panel_rows=4)
        np.testing.assert_allclose(out, oracles.kernel(name, X, Y, gamma), atol=1e-12)
    value = value_of_vectors(X[0], X[1], formula)
    assert value == pytest.approx(oracles.kernel(name, X[:1], X[1:2], gamma).item(), abs=1e-12)


def test_mirror():
    block = np.arange(40 * 70.0).reshape(40, 70)
    out = np.empty((70, 40))
    gram.mirror(block, out)
    np.testing.assert_array_equal(out, block.T)
    square = np.arange(9.0).reshape(3, 3)
    gram.mirror_within(square)
    np.testing.assert_array_equal(square, [[0, 1, 2], [1, 4, 5], [2, 5, 8]])
