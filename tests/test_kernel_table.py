"""The table of kernels: its entries are right, complete, and the only place that knows names."""

import ast
from pathlib import Path

import numpy as np
import pytest

import corekernels as ck
from corekernels.errors import ParameterError
from corekernels.kernel_table import HASHED_KERNELS, KERNELS, PairSums, SlotWeight, exact_kernel
from corekernels.theory import Pair
from support import oracles

OF_UNIT_ROWS = [name for name, kernel in KERNELS.items() if kernel.unit_rows]  # as in a `Pair`
SOURCES = Path(ck.__file__).parent


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return rng.poisson(0.6, (6, 50)) * rng.normal(size=(6, 50))


@pytest.mark.parametrize("name", OF_UNIT_ROWS)
def test_values_are_those_of_the_definition(X, name):
    expected = oracles.kernel(name, X)
    pairs = [[KERNELS[name].value(Pair.of(u, v)) for v in X] for u in X]
    np.testing.assert_allclose(pairs, expected, atol=1e-12)
    np.testing.assert_allclose(ck.gram(X, kernel=name), expected, atol=1e-12)


@pytest.mark.parametrize("name", KERNELS)
def test_values_from_sums_are_those_of_the_loops(X, name):
    """The text of a kernel is one, for arrays of sums as for the loops."""
    entry, f, indptr = KERNELS[name], np.count_nonzero(X, axis=1), np.arange(7) * 50
    own = entry.own_sums(indptr, X.ravel())
    sums = PairSums(X @ X.T, own[:, None], own, f[:, None], f, (X != 0) @ (X != 0).T.astype(int))
    np.testing.assert_allclose(entry.values(sums), ck.gram(X, kernel=name), atol=1e-12)


def test_names_forms_and_labels_differ():
    for attribute in ("name", "for_loops", "label"):
        assert len({getattr(kernel, attribute) for kernel in KERNELS.values()}) == len(KERNELS)
    assert all(exact_kernel(name).name == name for name in KERNELS)


@pytest.mark.parametrize("name", HASHED_KERNELS)
def test_signatures_keep_what_the_entry_says(X, name):
    entry = HASHED_KERNELS[name]
    S = ck.CoREHasher(name, 16, random_state=0).fit(X).sketch(X)
    assert (S.weights is None) == (entry.slot_weight is SlotWeight.NONE)
    assert (S.sums is not None) == entry.keeps_sums
    changed = ck.CoREHasher(name, 16, random_state=0).fit(X).sketch(np.abs(X) ** 1.5)
    same = S.weights is None or np.array_equal(S.weights, changed.weights)
    assert same == (not entry.uses_values)


@pytest.mark.parametrize("name", HASHED_KERNELS)
def test_no_pair_of_large_value_has_less_than_the_least_resemblance(name):
    rng = np.random.default_rng(0)
    for _ in range(300):
        f1, f2 = rng.integers(1, 12, 2)
        a = rng.integers(0, min(f1, f2) + 1)
        pair = Pair(1.0, f1, f2, a)
        value = HASHED_KERNELS[name].value(pair)  # at its largest: rho is 1
        if a:
            assert HASHED_KERNELS[name].least_resemblance(value) <= pair.R + 1e-12


@pytest.mark.parametrize(
    "call",
    [
        lambda X: ck.CoREHasher("rbf").fit(X),
        lambda X: ck.CoREClassifier("rbf").fit(X, np.arange(6) % 2),
        lambda X: ck.CoRERegressor("rbf").fit(X, np.arange(6.0)),
        lambda X: ck.CoRENeighbors("rbf").fit(X),
        lambda X: ck.Recipe("rbf"),
        lambda X: ck.plan(0.1, kernel="rbf"),
        lambda X: next(ck.gram_chunks(X, kernel="rbf")),
        lambda X: ck.gram_to_file("K.npy", X, kernel="rbf"),
    ],
)
def test_an_unknown_kernel_is_an_error_that_lists_the_known_ones(X, call):
    with pytest.raises(ParameterError, match=r"kernel: got 'rbf'; choose one of .*core1, core2"):
        call(X)


@pytest.mark.parametrize(
    "call",
    [
        lambda X, name: ck.CoREHasher(name).fit(X),
        lambda X, name: ck.CoREClassifier(name).fit(X, np.arange(6) % 2),
        lambda X, name: ck.plan(0.1, kernel=name),
    ],
)
@pytest.mark.parametrize("name", sorted(set(KERNELS) - set(HASHED_KERNELS)))
def test_what_is_not_hashed_is_refused_with_a_reason(X, call, name):
    with pytest.raises(ParameterError, match=f"{name} is computed exactly only; choose one of res"):
        call(X, name)


def test_no_module_compares_with_the_name_of_a_kernel():
    """Outside the table, and what the paper published, modules ask an entry, not a name."""
    found = []
    for path in SOURCES.rglob("*.py"):
        if path.name in ("kernel_table.py", "published.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Compare):
                names = {
                    constant.value
                    for side in (node.left, *node.comparators)
                    for constant in ast.walk(side)
                    if isinstance(constant, ast.Constant)
                }
                found += [(path.name, node.lineno)] if names & set(KERNELS) else []
    assert not found
