"""A way of hashing is one object: what it needs to be one, and that nothing else knows schemes."""

import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy import sparse

import corekernels as ck
from corekernels import _hashing, recipe
from corekernels._hashing.base import Sketch
from corekernels._loops.rows import inspect_rows


class Plain(Sketch):
    """A random order of the columns for each slot, in a few lines of NumPy."""

    bank_slots = 1

    @property
    def n_locations(self):
        return self.recipe.n_columns

    def hash(self, rows, out, team, block_nonzeros=0):
        if inspect_rows(rows.indptr, rows.indices, rows.data, rows.n_columns):
            return [(0, len(rows))]
        rng = np.random.default_rng(self.recipe.seed)
        shape = (self.recipe.n_hashes, rows.n_columns)
        orders = rng.permuted(np.tile(np.arange(rows.n_columns), (shape[0], 1)), axis=1)
        out["codes"][:], out["lengths"][:] = 0, rows.lengths
        for row in np.flatnonzero(rows.lengths):
            columns = rows.indices[rows.indptr[row] : rows.indptr[row + 1]]
            out["codes"][row] = orders[:, columns].min(axis=1) & self.recipe.code_mask
        return []


@pytest.fixture
def plain(monkeypatch):
    """The scheme "plain", with its module."""
    module = ModuleType("corekernels._hashing.plain")
    module.make_sketch = Plain
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for place in (_hashing, recipe):
        monkeypatch.setattr(place, "SCHEMES", (*_hashing.SCHEMES, "plain"))


@pytest.mark.parametrize("n_bits", [3, 8, None])
def test_another_sketch_is_hashed_estimated_and_planned_with(plain, n_bits):
    """Within five standard errors; rows that are not clean come cleaned."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((20, 90), density=0.4, rng=rng, format="csr")
    messy = sparse.csr_array((X.data, X.indices[::-1].copy(), X.indptr), shape=X.shape)
    hasher = ck.CoREHasher("resemblance", 600, n_bits=n_bits, scheme="plain", random_state=0)
    for rows in (X, messy):
        S = hasher.fit(rows).sketch(rows)
        i, j = np.triu_indices(20)
        estimate, error = S.estimate_pairs(i, j)
        exact = ck.resemblance(rows)[i, j]
        assert (np.abs(estimate - exact) <= 5 * error).all()
        np.testing.assert_allclose(S.estimate()[i, j], estimate, atol=1e-5)
    assert S.recipe.sketch.variance_change(40) == 0
    assert ck.Recipe.fromdict(S.recipe.asdict()) == S.recipe


def test_every_scheme_has_a_sketch():
    for scheme in _hashing.SCHEMES:
        for n_columns in (1, 100, 10**6, 2**62):
            sketch = ck.Recipe(scheme=scheme, n_columns=n_columns).sketch
            assert isinstance(sketch, Sketch)
            assert sketch.__module__ == f"corekernels._hashing.{scheme}"


def test_no_other_module_compares_names_of_schemes():
    names = "|".join(_hashing.SCHEMES)
    compared = re.compile(
        rf"""(==|!=|\bin\b|\bcase\b).*["']({names})["']|["']({names})["'] *[=!]="""
    )
    for path in Path(ck.__file__).parent.rglob("*.py"):
        code = [line for line in path.read_text().splitlines() if compared.search(line)]
        assert not [line for line in code if "scheme" in line], path
