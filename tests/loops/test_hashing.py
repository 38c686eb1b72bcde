"""The loops of hashing on small inputs: also run with NUMBA_DISABLE_JIT=1."""

import numpy as np
import pytest
from scipy import sparse

import corekernels as ck
from corekernels._core.memory import aligned_zeros
from corekernels._hashing.hashing import hash_matrix
from corekernels._loops.hashing import rotation, sieve, slices
from corekernels.kernel_table import hashed_kernel
from corekernels.theory import Pair
from support import oracles
from support.contract import rotated


@pytest.mark.parametrize("scheme", ["circulant", "independent"])
@pytest.mark.parametrize(
    ("kernel", "weight_bits"),
    [
        ("resemblance", 16),
        ("core1", 16),
        ("core2", 16),
        ("core_rbf", 16),
        ("core1", 4),
        ("core_rbf", 8),
    ],
)
@pytest.mark.parametrize(("n_columns", "k"), [(40, 60), (130, 300), (70_000, 60)])
def test_hashing_gives_the_kernel(X, kernel, weight_bits, scheme, n_columns, k):
    """Within five standard errors."""
    rows = sparse.csr_array((X[X != 0], np.nonzero(X)), shape=(7, n_columns))
    bits = {"n_bits": min(6, weight_bits), "weight_bits": weight_bits}
    recipe = ck.Recipe(kernel, k, scheme=scheme, n_columns=n_columns, seed=1, **bits)
    with np.errstate(over="ignore"):  # the mixes are products modulo 2^64
        S = ck.Signatures.from_arrays(recipe, hash_matrix(rows, recipe.sketch, 1))
    exact = oracles.kernel(kernel, X)
    i, j = np.indices(exact.shape).reshape(2, -1)
    estimate, error = S.estimate_pairs(i, j)
    if kernel == "core2":  # few slots do not show how heavy its tails are
        f1, f2, a = oracles.supports(X, X)
        f1, f2 = np.maximum(f1, 1), np.maximum(f2, 1)
        squares = oracles.unit(X) ** 2 @ (oracles.unit(X) ** 2).T
        pairs = Pair(oracles.correlation(X, X), f1, f2, a, squares)
        chance = recipe.sketch.aliasing(f1, f2)
        variance = hashed_kernel(kernel).variance(pairs, k, chance=chance)
        error = np.maximum(error, np.sqrt(variance.ravel()))
    assert (np.abs(estimate - exact[i, j]) <= 5 * error).all()
    np.testing.assert_allclose(S.estimate()[i, j], estimate, atol=1e-5)


@pytest.mark.parametrize("n_slots", [1, 16, 200, 512])
@pytest.mark.parametrize("length", [1, 6, 60])
def test_slices_give_what_the_transforms_give(length, n_slots):
    """And both, what the product with the random numbers of each column gives."""
    rng = np.random.default_rng(0)
    columns = np.sort(rng.choice(2**40, length, replace=False))
    values = rng.normal(size=length).astype(np.float32)
    rotations = ck.Recipe("core1", 600, n_columns=2**40, seed=3).sketch.tables.rotations
    n_lines = -(-n_slots // rotation.PLACES)
    scratch = rotation.RotationScratch(aligned_zeros((512,), np.float32), np.empty(256, np.uint16))
    with np.errstate(over="ignore"):
        rotation.add_slices(columns, values, rotations, 1, n_lines, scratch)
        slices = scratch.sums[:n_slots].copy()
        rotation.fill_buckets(columns, values, rotations, 1, scratch.drawn, scratch.sums)
        rotation.rotate(rotations.signs[1], scratch.sums)
    expected = values @ rotated(3, columns, 1024)[:, 512 : 512 + n_slots]
    # sums of some 30 roundings of numbers below 5
    np.testing.assert_allclose(slices, expected, rtol=0, atol=150 * 2.0**-24)
    np.testing.assert_allclose(scratch.sums[:n_slots], expected, rtol=0, atol=150 * 2.0**-24)


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
@pytest.mark.parametrize("code_type", [np.uint8, np.uint16, np.uint32])
def test_minima_of_slices_and_what_is_held_for_them(dtype, code_type):
    rng = np.random.default_rng(0)
    table = rng.integers(0, 50, 900).astype(dtype)  # with equals
    mask = dtype(31)
    for length in (1, 2, 9, 30):
        starts = rng.integers(0, 300, length).astype(np.int32)
        held = rng.integers(0, 2**16, length).astype(np.uint16)
        n_slots = 4 * 64 // table.itemsize
        rows = np.array([table[s + 64 : s + 64 + n_slots] for s in starts])
        last = length - 1 - rows[::-1].argmin(axis=0)
        for weights in (None, held):
            out, values = np.zeros((3, n_slots), code_type), np.zeros((3, n_slots), np.uint16)
            slices.slice_minima(starts, weights, table, 64, mask, n_slots, out, values)
            np.testing.assert_array_equal(out[1], rows.min(axis=0) & 31)
            np.testing.assert_array_equal(values[1], 0 if weights is None else held[last])
            assert not out[::2].any()
            assert not values[::2].any()


@pytest.mark.parametrize("n_positions", [64, 100, 128, 700])
@pytest.mark.parametrize("length", [1, 3, 60])
def test_sieve_gives_the_minima_of_slices(n_positions, length):
    rng = np.random.default_rng(length)
    recipe = ck.Recipe("resemblance", n_positions, None, n_columns=n_positions, seed=length)
    banks = recipe.sketch.tables.banks
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
        sieve.sieve_minima(bitmap, banks.sieve_places[0], shift, planes, out)
        circle = np.arange(shift, shift + 512)
        slices = banks.tables[0, (starts[:, None] + circle) % n_positions]
        np.testing.assert_array_equal(out, slices.min(axis=0))
        for n_slots in (min(512, n_positions - shift), min(509, n_positions - shift)):
            values = np.empty(n_slots, np.uint16)
            sieve.values_behind(out.view(np.uint64), banks.sieve_places[0], shift, marks, values)
            np.testing.assert_array_equal(values, held[slices.argmin(axis=0)][:n_slots])


@pytest.mark.parametrize(
    ("kernel", "weight_bits"), [("resemblance", 16), ("core1", 16), ("core1", 4)]
)
def test_features_hold_codes_and_weights(X, kernel, weight_bits):
    hasher = ck.CoREHasher(kernel, 30, n_bits=4, weight_bits=weight_bits, random_state=0).fit(X)
    with np.errstate(over="ignore"):  # the mixes are products modulo 2^64
        S = hasher.sketch(X)
    there = S.lengths > 0
    weights = np.ones(S.shape) if S.weights is None else S.weights.astype(float)
    expected = np.zeros((7, 30, 16))
    np.put_along_axis(expected, S.codes[..., None].astype(int), weights[..., None], axis=2)
    expected = (expected * there[:, None, None]).reshape(7, -1)
    plain, unit = (S.to_csr(normalize=flag, n_jobs=1).toarray() for flag in (False, True))
    np.testing.assert_allclose(plain, expected / np.sqrt(30), rtol=2**-22)  # four roundings
    norms = np.linalg.norm(expected[there], axis=1, keepdims=True)
    np.testing.assert_allclose(unit[there], expected[there] / norms, rtol=2**-22)
    assert not unit[~there].any()
