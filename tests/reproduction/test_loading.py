import gzip
import os
import sys

import numpy as np
import pytest
from scipy import sparse

from corekernels.errors import DataError, FileError, ParameterError
from reproduction import datasets
from reproduction.datasets.dataset import made, unit_rows

needs_data = pytest.mark.skipif(
    "COREKERNELS_DATA" not in os.environ,
    reason="needs the real data: let COREKERNELS_DATA name their folder",
)


@pytest.fixture(autouse=True)
def empty_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("COREKERNELS_CACHE", str(tmp_path_factory.mktemp("cache")))


def write_idx(path, array):
    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">i4").tobytes()
    path.write_bytes(gzip.compress(header + array.tobytes()))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with an MNIST of 40 images."""
    rng = np.random.default_rng(0)
    (tmp_path / "mnist").mkdir()
    for part, n in (("train", 30), ("t10k", 10)):
        images = rng.integers(1, 256, (n, 28, 28)).astype(np.uint8)
        write_idx(tmp_path / "mnist" / f"{part}-images-idx3-ubyte.gz", images)
        write_idx(tmp_path / "mnist" / f"{part}-labels-idx1-ubyte.gz", np.arange(n, dtype=np.uint8))
    monkeypatch.setenv("COREKERNELS_DATA", str(tmp_path))
    return tmp_path / "mnist"


def lengths(X):
    return np.sqrt(X.multiply(X).sum(axis=1))


def test_unit_rows():
    X = sparse.csr_array([[3, 0, 4], [0, 0, 0], [0, 2, 0]])
    X.data[0] = 0  # a stored zero
    found = unit_rows(X)
    assert found.dtype == np.float32
    assert found.indices.dtype == found.indptr.dtype == np.int32
    np.testing.assert_array_equal(found.toarray(), [[0, 0, 1], [0, 0, 0], [0, 1, 0]])
    assert found.nnz == 2


def test_files_that_do_not_belong_together():
    X, y = np.ones((3, 2)), np.zeros(3)
    with pytest.raises(FileError, match="some: 3 rows and 2 labels to test on"):
        made("some", (X, y), (X, y[:2]), "")
    with pytest.raises(FileError, match="some: 2 columns to train on and 1 to test on"):
        made("some", (X, y), (X[:, :1], y), "")


def test_digits():
    found = datasets.load("digits")
    assert found.X_train.shape == (1000, 64)
    assert found.X_test.shape == (797, 64)
    np.testing.assert_allclose(lengths(found.X_test), 1, rtol=1e-6)
    again, other = datasets.load("digits"), datasets.load("digits", seed=1)
    np.testing.assert_array_equal(again.y_train, found.y_train)
    assert not np.array_equal(other.y_train, found.y_train)
    for y in (found.y_train, other.y_train):  # stratified: 10 classes of about 178 in 1,797
        assert np.bincount(y).min() > 95


def test_names():
    with pytest.raises(ParameterError, match="name: got 'cifar'; choose one of digits, mnist10k"):
        datasets.load("cifar")


def test_rotation():
    images = np.random.default_rng(0).uniform(size=(5, 9, 9))
    turned = datasets.rotate_images(images, seed=1)
    np.testing.assert_array_equal(turned, datasets.rotate_images(images, seed=1))
    assert not np.array_equal(turned, datasets.rotate_images(images, seed=2))
    even = datasets.rotate_images(np.ones((50, 9, 9)), seed=0)[:, 2:7, 2:7]
    np.testing.assert_allclose(even, 1, rtol=1e-6)  # inside the circle nothing is lost
    with pytest.raises(DataError, match="images: has 2 dimensions"):
        datasets.rotate_images(np.ones((3, 3)))


def test_sets_of_mnist(folder, monkeypatch):
    small = datasets.load("mnist10k")
    assert small.X_train.shape == (10, 784)
    assert small.y_test.tolist() == list(range(30))
    with pytest.raises(FileError, match="62000 images are wanted and 40 there"):
        datasets.load("m-basic")
    monkeypatch.setattr("reproduction.datasets.images._N_TRAIN", 25)
    monkeypatch.setattr("reproduction.datasets.images._N_TEST", 10)
    basic, rotated = (datasets.load(name, folder=folder.parent) for name in ("m-basic", "m-rotate"))
    np.testing.assert_array_equal(basic.y_train, rotated.y_train)  # the same images
    assert rotated.X_test.shape == (10, 784)
    np.testing.assert_allclose(lengths(rotated.X_train), 1, rtol=1e-5)
    images, _ = datasets.mnist()
    first = images[np.random.default_rng(0).permutation(40)[0]].ravel()
    np.testing.assert_allclose(
        basic.X_train[[0]].toarray()[0], first / np.linalg.norm(first.astype(float)), rtol=1e-6
    )


def test_damaged_mnist(folder):
    images, labels = datasets.mnist()
    assert images.shape == (40, 28, 28)
    assert labels.tolist()[:2] == [0, 1]
    path = folder / "train-labels-idx1-ubyte.gz"
    raw = gzip.decompress(path.read_bytes())
    short = raw[:4] + np.array([29], ">i4").tobytes() + raw[8:-1]
    for content, message in [
        (gzip.compress(raw[:-3]), "cut short"),
        (gzip.compress(b"text"), "not an IDX file"),
        (path.read_bytes()[:20], "cannot be read"),
        (gzip.compress(short), "30 images and 29 labels of part 'train'"),
    ]:
        path.write_bytes(content)
        with pytest.raises(FileError, match=message):
            datasets.mnist()


def test_places(folder, monkeypatch):
    with pytest.raises(FileError, match=r"folder: .* is not a folder"):
        datasets.load("usps", folder=folder / "nowhere")
    monkeypatch.setenv("COREKERNELS_DATA", str(folder / "nowhere"))
    with pytest.raises(FileError, match=r"COREKERNELS_DATA: .* is not a folder"):
        datasets.mnist()


def test_usps(tmp_path, monkeypatch):
    h5py = pytest.importorskip("h5py")
    (tmp_path / "usps").mkdir()
    path = tmp_path / "usps" / "usps.h5"
    with h5py.File(path, "w") as file:
        for part, n in (("train", 4), ("test", 3)):
            file[f"{part}/data"] = np.eye(n, 256, dtype=np.float32) / 2
            file[f"{part}/target"] = np.arange(n)
    found = datasets.load("usps", folder=tmp_path)
    np.testing.assert_array_equal(found.X_train.toarray(), np.eye(4, 256))
    assert found.y_test.tolist() == [0, 1, 2]
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "h5py", None)
        with pytest.raises(FileError, match=r"usps\.h5: HDF5 is read with h5py; pip install h5py"):
            datasets.load("usps", folder=tmp_path)
    with h5py.File(path, "w") as file:
        file["train/data"] = np.eye(4)
    with pytest.raises(FileError, match=r"usps\.h5: not an HDF5 file with train/data"):
        datasets.load("usps", folder=tmp_path)
    path.write_bytes(b"text")
    with pytest.raises(FileError, match=r"usps\.h5: not an HDF5 file"):
        datasets.load("usps", folder=tmp_path)


def write_news(folder):
    folder.mkdir()
    train = sparse.csr_array([[1, 3, 0], [0, 1, 0], [0, 0, 0]], dtype=np.float32)
    sparse.save_npz(folder / "train_tf.npz", train)
    sparse.save_npz(folder / "test_tf.npz", sparse.csr_array([[0, 2, 5]], dtype=np.float32))
    np.savez(folder / "labels.npz", train=[0, 1, 1], test=[0])


def test_news(tmp_path):
    write_news(tmp_path / "20news")
    found = datasets.load("20news", folder=tmp_path)
    idf = np.log(4 / (1 + np.array([1, 2, 0]))) + 1  # of the three training rows alone
    for X, counts in ((found.X_train, [1, 3, 0]), (found.X_test, [0, 2, 5])):
        weights = np.where(counts, 1 + np.log(np.maximum(counts, 1)), 0) * idf
        np.testing.assert_allclose(
            X[[0]].toarray()[0], weights / np.linalg.norm(weights), rtol=1e-6
        )
    assert lengths(found.X_train)[2] == 0  # the empty row stays
    assert found.y_train.tolist() == [0, 1, 1]
    np.savez(tmp_path / "20news" / "labels.npz", train=[0, 1, 1])
    with pytest.raises(FileError, match=r"labels\.npz: not an npz with the labels"):
        datasets.load("20news", folder=tmp_path)


def test_words(tmp_path):
    (tmp_path / "words").mkdir()
    sparse.save_npz(tmp_path / "words/word_by_document.npz", sparse.csr_array([[1, 0], [2, 3]]))
    (tmp_path / "words/words.txt").write_text("hong\nkong\n")
    counts, words = datasets.word_counts(folder=tmp_path)
    assert counts.toarray().tolist() == [[1, 0], [2, 3]]
    assert words == ["hong", "kong"]
    (tmp_path / "words/words.txt").write_text("hong\n")
    with pytest.raises(FileError, match="1 words for 2 rows"):
        datasets.word_counts(folder=tmp_path)


@needs_data
@pytest.mark.parametrize(
    ("name", "train", "test", "share", "n_empty"),
    [
        ("mnist10k", (10_000, 784), (60_000, 784), 0.193, 0),
        ("m-basic", (12_000, 784), (50_000, 784), 0.191, 0),
        ("m-rotate", (12_000, 784), (50_000, 784), 0.256, 0),
        ("usps", (7_291, 256), (2_007, 256), 0.407, 0),
        ("20news", (11_314, 53_663), (7_532, 53_663), 0.0025, 21),
    ],
)
def test_real_data(name, train, test, share, n_empty):
    found = datasets.load(name)
    assert found.X_train.shape == train
    assert found.X_test.shape == test
    assert found.X_train.nnz / np.prod(train) == pytest.approx(share, abs=0.001)
    filled = np.diff(found.X_train.indptr) > 0
    assert (~filled).sum() == n_empty
    np.testing.assert_allclose(lengths(found.X_train)[filled], 1, rtol=1e-6)
    assert len(np.unique(found.y_train)) == len(np.unique(found.y_test))


@needs_data
def test_real_words():
    counts, words = datasets.word_counts()
    assert counts.shape == (12, 11_314)
    assert words[:2] == ["a", "the"]
