import json
import os
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_score,
    train_test_split,
)

import corekernels as ck
from corekernels.errors import DataError, FileError, ParameterError, RecipeMismatch

KERNELS = ("resemblance", "core1", "core2")
X = np.random.default_rng(0).poisson(0.3, (40, 60)) * np.random.default_rng(1).normal(size=(40, 60))


def hashed(kernel="core1", rows=X, **parameters):
    parameters = {"n_hashes": 24, "random_state": 0, **parameters}
    return ck.CoREHasher(kernel, **parameters).fit(rows).sketch(rows)


def assert_same(S, T):
    assert S.recipe == T.recipe
    for name in ("codes", "weights", "lengths", "sums"):
        mine, theirs = getattr(S, name), getattr(T, name)
        assert (mine is None) == (theirs is None)
        if mine is not None:
            assert mine.dtype == theirs.dtype
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_can_be_picked_and_put_together(kernel):
    S = hashed(kernel)
    assert len(S) == 40
    assert_same(ck.concatenate([S[:7], S[7:30], S[30:]]), S)
    order = np.arange(40)[::-1]
    assert_same(S[order][order], S)
    assert_same(S[3], S[3:4])
    assert_same(S[-1], S[39:])
    assert_same(S[np.arange(40) < 5], S[:5])
    assert np.shares_memory(S[:5].codes, S.codes)
    assert len(S[:0]) == 0
    for wrong in (40, None, [[1, 2], [3, 4]]):
        with pytest.raises(IndexError):
            S[wrong]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_bits", [1, 8, 12, None])
def test_matrix_and_pairs_agree(kernel, n_bits):
    S = hashed(kernel, n_bits=n_bits)
    T = S[::3]
    K = S.estimate(T)
    i, j = np.indices(K.shape).reshape(2, -1)
    pairs = S.estimate_pairs(i, j, T, return_std=False).reshape(K.shape)
    rows, columns = np.ogrid[: len(S), : len(T)]
    np.testing.assert_array_equal(S.estimate_pairs(rows, columns, T)[0], pairs)
    np.testing.assert_allclose(K, pairs, atol=1e-5)
    np.testing.assert_allclose(S.estimate()[:, ::3], K, atol=1e-6)
    np.testing.assert_array_equal(S.estimate(T, n_jobs=1), S.estimate(T, n_jobs=7))


def test_no_pairs():
    for found in hashed().estimate_pairs([], []):
        assert found.shape == (0,)


def test_one_pair():
    S = hashed()
    estimate, error = S.estimate_pairs(0, 1)
    assert estimate.shape == error.shape == (1,)
    assert error[0] > 0


@pytest.mark.parametrize(
    ("kernel", "weight_bits"), [("resemblance", 16), ("core1", 16), ("core1", 4)]
)
def test_threads_change_neither_features_nor_estimates(kernel, weight_bits):
    """Blocks with empty rows, without, and of nothing else."""
    rng = np.random.default_rng(0)
    rows = rng.random((3000, 20)) * (rng.random((3000, 20)) < 0.3)
    rows[rng.random(3000) < 0.01] = 0
    rows[1000:2000] = 0
    S = hashed(kernel, rows, n_hashes=256, n_bits=4, weight_bits=weight_bits)
    one = S.to_csr(n_jobs=1)
    assert one.indptr.tolist() == [0, *np.cumsum(256 * (S.lengths > 0))]
    slots = one.indices.reshape(-1, 256)
    np.testing.assert_array_equal(slots, 16 * np.arange(256) + S.codes[S.lengths > 0])
    norms = np.sqrt(one.power(2).sum(axis=1))
    np.testing.assert_allclose(norms, S.lengths > 0, atol=1e-6)  # 256 roundings of 2^-24
    i, j = np.arange(3000), np.arange(3000)[::-1]
    estimates = S.estimate_pairs(i, j, n_jobs=1)
    for n_jobs in (2, 7):
        other = S.to_csr(n_jobs=n_jobs)
        for name in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(other, name), getattr(one, name))
        np.testing.assert_array_equal(S.estimate_pairs(i, j, n_jobs=n_jobs), estimates)


def test_strangers_are_refused():
    S = hashed(n_hashes=24)
    with pytest.raises(RecipeMismatch, match=r"n_hashes 24 and 16, seed 0 and 1; hash both"):
        S.estimate(hashed(n_hashes=16, random_state=1))
    with pytest.raises(RecipeMismatch, match="kernel 'core1' and 'core2'; hash both"):
        ck.concatenate([S, hashed("core2")])
    with pytest.raises(RecipeMismatch, match="n_columns 60 and 59"):
        S.estimate_pairs(0, 0, hashed(rows=X[:, 1:]))
    with pytest.raises(DataError, match="T: got ndarray"):
        S.estimate(X)
    with pytest.raises(DataError, match="got none"):
        ck.concatenate([])
    with pytest.raises(ParameterError, match="only 8 were kept"):
        S.narrow(9)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_bits", [3, 16, None])
@pytest.mark.parametrize("mmap", [True, False])
def test_files(tmp_path, kernel, n_bits, mmap):
    S = hashed(kernel, n_bits=n_bits)
    S.save(tmp_path / "S.safetensors")
    loaded = ck.Signatures.load(tmp_path / "S.safetensors", mmap=mmap)
    assert_same(loaded, S)
    assert loaded.weights is None or isinstance(loaded.weights, np.memmap) == mmap
    np.testing.assert_array_equal(loaded.estimate(), S.estimate())
    loaded[5:].save(tmp_path / "part.safetensors")
    assert_same(ck.Signatures.load(tmp_path / "part.safetensors"), S[5:])


def test_equal_rows_give_equal_bytes(tmp_path):
    for name in ("a", "b"):
        hashed().save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_no_rows(tmp_path):
    S = hashed("core2")[:0]
    S.save(tmp_path / "S")
    assert_same(ck.Signatures.load(tmp_path / "S"), S)
    assert S.estimate().shape == (0, 0)
    assert S.to_csr().shape == (0, 24 * 256)


def test_the_file_is_plain_safetensors(tmp_path):
    S = hashed("core2")
    S.save(tmp_path / "S")
    arrays = load_file(tmp_path / "S")
    np.testing.assert_array_equal(arrays["codes"], S.codes)
    np.testing.assert_array_equal(arrays["sums"], S.sums)


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "S.safetensors"
    hashed("core2").save(path)
    return path


def rewrite(path, arrays=None, **metadata):
    """The file again with other arrays or metadata, as a person with a text editor might."""
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    old = json.loads(raw[8 : 8 + size])["__metadata__"]
    save_file({**load_file(path), **(arrays or {})}, path, metadata={**old, **metadata})


def test_missing_and_foreign_files(tmp_path):
    with pytest.raises(FileError, match="does not exist"):
        ck.Signatures.load(tmp_path / "nothing")
    with pytest.raises(FileError, match="is a folder"):
        ck.Signatures.load(tmp_path)
    save_file({"a": np.ones(3)}, tmp_path / "foreign")
    with pytest.raises(FileError, match=r"holds something else, not corekernels.*; name another"):
        ck.Signatures.load(tmp_path / "foreign")
    (tmp_path / "text").write_text("1 3:0.5\n" * 100)
    with pytest.raises(FileError, match="not a whole safetensors file"):
        ck.Signatures.load(tmp_path / "text")
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(FileError, match="not a whole safetensors file"):
        ck.Signatures.load(tmp_path / "empty")


def test_truncated_at_any_length(saved):
    raw = saved.read_bytes()
    for length in [*range(0, 600, 37), len(raw) // 2, len(raw) - 1]:
        saved.write_bytes(raw[:length])
        with pytest.raises(FileError, match="not a whole safetensors file"):
            ck.Signatures.load(saved)
    saved.write_bytes(raw + b"more")
    with pytest.raises(FileError):
        ck.Signatures.load(saved)


def test_a_length_bomb(saved):
    raw = saved.read_bytes()
    saved.write_bytes((2**62).to_bytes(8, "little") + raw[8:])
    with pytest.raises(FileError, match="not a whole safetensors file"):
        ck.Signatures.load(saved)


def test_files_of_other_versions_and_edited_ones(saved):
    for version in ("9", "one"):
        rewrite(saved, version=version)
        with pytest.raises(FileError, match=f"is in version {version} of its format, .* reads ver"):
            ck.Signatures.load(saved)
    rewrite(saved, version="1", about="{")
    with pytest.raises(FileError, match="description is damaged"):
        ck.Signatures.load(saved)
    recipe = hashed("core2").recipe.asdict()
    for number in (0, 2, "1", True, None):
        rewrite(saved, about=json.dumps({"recipe": {**recipe, "contract": number}}))
        with pytest.raises(FileError, match=f"hashed by contract {number}, this .* by contract 1"):
            ck.Signatures.load(saved)
    for change in (
        {"n_hashes": 0},
        {"kernel": "rbf"},
        {"extra": 1},
    ):
        rewrite(saved, about=json.dumps({"recipe": {**recipe, **change}}))
        with pytest.raises(FileError, match="damaged or unknown"):
            ck.Signatures.load(saved)
    for change in ({"n_hashes": 25}, {"n_bits": 12}):
        rewrite(saved, about=json.dumps({"recipe": {**recipe, **change}}))
        with pytest.raises(FileError, match="array 'codes' does not fit its recipe"):
            ck.Signatures.load(saved)


def test_edited_arrays(saved):
    rewrite(saved, {"weights": np.ones((40, 24))})
    with pytest.raises(FileError, match="array 'weights' does not fit"):
        ck.Signatures.load(saved)
    rewrite(saved, {"weights": np.ones((40, 24), np.float16), "lengths": np.full(40, -1)})
    with pytest.raises(FileError, match="array 'lengths' is out of range"):
        ck.Signatures.load(saved)


def test_codes_that_no_hasher_makes_are_refused(tmp_path):
    """However they come in: they become positions in arrays, which loops do not check."""
    path = tmp_path / "S.safetensors"
    narrow = hashed().narrow(4)
    narrow.save(path)
    codes = np.full_like(narrow.codes, 16)
    rewrite(path, {"codes": codes})
    for door in (
        lambda: ck.Signatures.load(path),
        lambda: next(iter(ck.files.open_reader(path))),
        lambda: ck.files.open_reader(path).take([0]),
        lambda: narrow.with_arrays(codes=codes),
        lambda: ck.Signatures(narrow.recipe, {**narrow.arrays(), "codes": codes}),
    ):
        with pytest.raises(DataError, match="codes: one is 16, and 15 is the highest"):
            door()


def test_a_failed_save_leaves_the_old_file(saved):
    raw = saved.read_bytes()
    code = (
        "import resource, signal, numpy as np, corekernels as ck\n"
        f"S = ck.Signatures.load({str(saved)!r})\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
        f"ck.concatenate([S, S]).save({str(saved)!r})"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "FileError" in run.stderr
    assert saved.read_bytes() == raw
    assert os.listdir(saved.parent) == [saved.name]


def test_repr_says_what_it_is():
    assert repr(hashed()).startswith("Signatures(40 rows, 3,200 bytes, Recipe(kernel='core1'")


@pytest.mark.parametrize("kernel", ["core1", "core2"])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_damaged_weight_is_not_learned_from_or_estimated_with(kernel, wrong):
    X = np.random.default_rng(0).random((6, 5))
    S = ck.CoREHasher(kernel, 16, random_state=0).fit(X).sketch(X)
    weights = S.weights.copy()
    weights[3, 7] = wrong
    damaged = S.with_arrays(weights=weights)
    with pytest.raises(DataError, match="a weight is not finite"):
        damaged.estimate()
    with pytest.raises(DataError, match="a weight is not finite"):
        damaged.estimate_pairs([3], [3])
    with pytest.raises(DataError, match="row 3 holds a weight that is not finite"):
        ck.linear.HashedLinearClassifier().fit(damaged, [0, 1, 0, 1, 0, 1])


def test_weights_of_another_precision_are_refused():
    S = hashed("core2")
    with pytest.raises(DataError, match="weights: are float32; give them as float16"):
        S.with_arrays(weights=S.weights.astype(np.float32))


@pytest.mark.parametrize("largest", [1e12, 1e300])
@pytest.mark.parametrize("n_columns", [500, 5])
def test_values_far_below_the_largest_of_their_row_do_not_vanish(largest, n_columns):
    """A learner scales rows to length one again: the columns of small values still count."""
    rows = np.where(np.arange(n_columns) % 2, 1.0, -1.0) * np.ones((2, 1))
    rows[:, 3] = largest
    S = hashed("core2", rows, n_hashes=40)
    assert S.weights.all()
    assert (S.weights < 0).any()
    np.testing.assert_array_equal(S.codes, hashed("resemblance", rows, n_hashes=40).codes)
    lengths = np.sqrt(S.to_csr().power(2).sum(axis=1))
    np.testing.assert_allclose(lengths, 1, rtol=1e-5)


def test_scikit_learn_splits_signatures():
    X, y = load_digits(return_X_y=True)
    S = ck.CoREHasher(n_hashes=64, random_state=0).fit(X).sketch(X)
    assert S.shape == (1797, 64)
    model = ck.linear.HashedLinearClassifier(random_state=0)
    scores = cross_val_score(model, S, y, cv=3)
    by_hand = [
        clone(model).fit(S[train], y[train]).score(S[test], y[test])
        for train, test in StratifiedKFold(3).split(y, y)
    ]
    np.testing.assert_array_equal(scores, by_hand)
    grid = GridSearchCV(model, {"C": [1e-4, 1]}, cv=2, error_score="raise").fit(S[:600], y[:600])
    assert grid.best_params_ == {"C": 1}
    assert grid.predict(S[:5]).shape == (5,)
    ridge = ck.linear.HashedLinearRegressor(random_state=0)
    assert cross_val_score(ridge, S, y, cv=2, error_score="raise").mean() > 0.3
    left, right, _, _ = train_test_split(S, y, random_state=0)
    assert len(left) + len(right) == 1797
