"""The loops on small inputs: also run with NUMBA_DISABLE_JIT=1, as the plain Python they are."""

import os
import pathlib
import platform
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import corekernels as ck
from corekernels import theory
from corekernels._exact import gram as _gram
from corekernels._hashing import sketch as _sketch
from corekernels._hashing import tables as _tables
from corekernels._loops import rows
from corekernels._loops.gram import blocks as gram
from corekernels._loops.hashing import minwise, sieve
from corekernels._loops.simd import halves
from corekernels._loops.simd.popcount import popcount
from support import oracles


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.4, (7, 40)) * rng.normal(size=(7, 40))
    X[:, :4] = rng.normal(size=(7, 4))
    X[5] = 0
    return X


@pytest.mark.parametrize("name", ["correlation", "resemblance", "core1", "core2"])
@pytest.mark.parametrize("gamma", [None, 0.3])
@pytest.mark.parametrize("ratio", [0.0, 5.0, 1e9])  # all columns thin, some, none
def test_gram_on_both_roads(X, name, gamma, ratio, monkeypatch):
    monkeypatch.setattr(_gram, "_UPDATES_PER_PRODUCT", {8: ratio})
    monkeypatch.setattr(_gram, "_PANEL_ROWS", 4)
    function = getattr(ck, name)
    np.testing.assert_allclose(
        function(X, gamma=gamma), oracles.kernel(name, X, gamma=gamma), atol=1e-12
    )
    np.testing.assert_allclose(
        function(X, X[:3], gamma=gamma), oracles.kernel(name, X, X[:3], gamma), atol=1e-12
    )
    assert function(X[0], X[1], gamma=gamma) == pytest.approx(
        oracles.kernel(name, X[:1], X[1:2], gamma).item(), abs=1e-12
    )


def test_popcount():
    assert [popcount(np.uint32(word)) for word in (0, 1, 0xFFFFFFFF, 0b1011)] == [0, 1, 32, 3]


def test_mirror():
    block = np.arange(40 * 70.0).reshape(40, 70)
    out = np.empty((70, 40))
    gram.mirror(block, out)
    np.testing.assert_array_equal(out, block.T)
    square = np.arange(9.0).reshape(3, 3)
    gram.mirror_within(square)
    np.testing.assert_array_equal(square, [[0, 1, 2], [1, 4, 5], [2, 5, 8]])


def test_inspect_rows_finds_each_flaw():
    indptr = np.array([0, 2, 4])

    def found(indices, data):
        return rows.inspect_rows(indptr, np.array(indices), np.array(data), 5)

    assert found([0, 1, 0, 4], [1.0, 2, 3, 4]) == 0
    assert found([1, 0, 0, 1], [1.0, 2, 3, 4]) == rows.DISORDER
    assert found([0, 1, 3, 3], [1.0, 2, 3, 4]) == rows.DISORDER
    assert found([0, 1, 0, 1], [1.0, 2, 0, 4]) == rows.ZERO
    assert found([0, 1, 0, 1], [1.0, 2, np.inf, 4]) == rows.NOT_FINITE
    assert found([0, 1, 0, 1], [np.nan, 2, 1, 4]) == rows.NOT_FINITE
    assert found([0, 1, 0, 5], [1.0, 2, 1, 4]) == rows.OUT_OF_RANGE
    assert found([-1, 1, 0, 4], [1.0, 2, 0, 4]) == rows.OUT_OF_RANGE | rows.ZERO
    assert rows.first_not_finite(indptr, np.array([1.0, 2, np.nan, 1])) == 1
    assert rows.first_not_finite(indptr, np.ones(4)) == -1


@pytest.mark.parametrize("scheme", ["circulant", "independent", "one-permutation"])
@pytest.mark.parametrize("kernel", ["resemblance", "core1", "core2"])
@pytest.mark.parametrize(("n_columns", "k"), [(40, 60), (130, 300), (70_000, 60)])
def test_hashing_gives_the_kernel(X, kernel, scheme, n_columns, k, monkeypatch):
    """Within five standard errors; small tables keep the plain Python quick."""
    monkeypatch.setattr(_tables, "WIDE_POSITIONS", 1 << 12)
    rows = sparse.csr_array((X[X != 0], np.nonzero(X)), shape=(7, n_columns))
    recipe = ck.Recipe(kernel, k, 6, scheme, n_columns=n_columns, seed=1)
    with np.errstate(over="ignore"):  # the mixes are products modulo 2^64
        S = _sketch.sketch(rows, recipe, 1)
    exact = oracles.kernel(kernel, X)
    i, j = np.indices(exact.shape).reshape(2, -1)
    estimate, error = S.estimate_pairs(i, j)
    if kernel == "core2":  # few slots do not show how heavy its tails are
        f1, f2, a = oracles.supports(X, X)
        squares = oracles.unit(X) ** 2 @ (oracles.unit(X) ** 2).T
        rho = oracles.correlation(X, X)
        f1, f2 = np.maximum(f1, 1), np.maximum(f2, 1)
        chance = theory.aliasing(f1, f2, recipe.n_locations, 6)
        variance = theory.variance_core2(rho, f1, f2, a, squares, k, C1=chance.C1, C2=chance.C2)
        error = np.maximum(error, np.sqrt(variance.ravel()))
    assert (np.abs(estimate - exact[i, j]) <= 5 * error).all()
    np.testing.assert_allclose(S.estimate()[i, j], estimate, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
@pytest.mark.parametrize("code_type", [np.uint8, np.uint16, np.uint32])
def test_minima_of_slices_and_what_is_held_for_them(dtype, code_type):
    rng = np.random.default_rng(0)
    table = rng.integers(0, 50, 900).astype(dtype)  # with equals
    mask = dtype(31)
    for length in (1, 2, 9, 30):
        starts = rng.integers(0, 300, length).astype(np.int32)
        held = rng.integers(0, 2**16, length).astype(np.uint16)
        slices = np.array([table[s + 64 : s + 64 + 512] for s in starts])
        last = length - 1 - slices[::-1].argmin(axis=0)
        for weights in (None, held):
            out, values = np.zeros((3, 512), code_type), np.zeros((3, 512), np.uint16)
            minwise.slice_minima(starts, weights, table, 64, 512, mask, 512, out, values)
            np.testing.assert_array_equal(out[1], slices.min(axis=0) & 31)
            np.testing.assert_array_equal(values[1], 0 if weights is None else held[last])
            assert not out[::2].any()
            assert not values[::2].any()


@pytest.mark.parametrize("n_positions", [64, 100, 128, 700])
@pytest.mark.parametrize("length", [1, 3, 60])
def test_sieve_gives_the_minima_of_slices(n_positions, length):
    rng = np.random.default_rng(length)
    recipe = ck.Recipe("resemblance", n_positions, None, n_columns=n_positions, seed=length)
    banks = _tables.minwise_banks(recipe)
    starts = rng.choice(n_positions, length, replace=False).astype(np.int32)
    bitmap = np.empty(-(-(n_positions + 1024) // 64) + 1, np.uint64)
    planes, out = np.empty((10, 8), np.uint64), np.empty(512, np.uint16)
    in_place = np.arange(n_positions, dtype=np.int32)
    marks, again = np.ones(64 * bitmap.size, np.uint8), np.empty_like(bitmap)
    sieve.mark_starts(starts, in_place, n_positions, None, marks, again)
    held = rng.integers(1, 2**16, length).astype(np.uint16)
    marks = np.ones(64 * bitmap.size, np.uint16)
    sieve.mark_starts(starts, in_place, n_positions, held, marks, bitmap)
    np.testing.assert_array_equal(bitmap, again)
    for shift in range(0, n_positions, 512):
        sieve.sieve_minima(bitmap, banks.places[0], shift, planes, out)
        circle = np.arange(shift, shift + 512)
        slices = banks.tables[0, (starts[:, None] + circle) % n_positions]
        np.testing.assert_array_equal(out, slices.min(axis=0))
        for n_slots in (min(512, n_positions - shift), min(509, n_positions - shift)):
            values = np.empty(n_slots, np.uint16)
            sieve.values_behind(out.view(np.uint64), banks.places[0], shift, marks, values)
            np.testing.assert_array_equal(values, held[slices.argmin(axis=0)][:n_slots])


def test_halves():
    """All of them there and back, and numbers between two of them, as NumPy has it."""
    every = np.arange(2**16, dtype=np.uint16)
    exact, found = every.view(np.float16).astype(np.float32), np.empty(2**16, np.float32)
    halves.read_halves(np.stack([every, every])[::-1].copy(), 1, 0, 2**16, found)
    np.testing.assert_array_equal(found, exact)
    halves.read_halves(every.reshape(256, -1), 5, 7, 20, found)
    np.testing.assert_array_equal(found[:13], exact[5 * 256 + 7 : 5 * 256 + 20])
    above = exact[:0x7C00]
    middle = (above[1:] + above[:-1]) / 2
    ends = np.array([1e-30, 1e-9, 65520, 1e9], np.float32)
    some = [np.nextafter(middle, np.float32(0)), middle, np.nextafter(middle, np.float32(1e6))]
    numbers = np.concatenate([above, *some, ends])
    numbers = np.concatenate([numbers, -numbers])
    out = np.empty(len(numbers), np.uint16)
    with np.errstate(over="ignore"):
        halves.write_halves(numbers, out)
        expected = numbers.astype(np.float16).view(np.uint16)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="others convert halves")
def test_halves_on_a_processor_without_instructions_for_them(tmp_path):
    plain = {
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_CACHE_DIR": str(tmp_path),
    }
    code = (
        "import numba, test_loops; test_loops.test_halves()\n"
        "from corekernels._loops.halves import read_halves\n"
        "assert numba.config.DISABLE_JIT or 'vcvtph2ps' not in str(read_halves.inspect_asm())"
    )
    folder = pathlib.Path(__file__).parent
    subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env={**os.environ, **plain}, check=True
    )
