import gzip

import numpy as np
import pytest

from corekernels import datasets
from corekernels.errors import DataError, FileError


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


def test_rotation():
    images = np.random.default_rng(0).uniform(size=(5, 9, 9))
    turned = datasets.rotate_images(images, seed=1)
    np.testing.assert_array_equal(turned, datasets.rotate_images(images, seed=1))
    assert not np.array_equal(turned, datasets.rotate_images(images, seed=2))
    even = datasets.rotate_images(np.ones((50, 9, 9)), seed=0)[:, 2:7, 2:7]
    np.testing.assert_allclose(even, 1, rtol=1e-6)  # inside the circle nothing is lost
    with pytest.raises(DataError, match="images: has 2 dimensions"):
        datasets.rotate_images(np.ones((3, 3)))


def test_m_rotate(folder):
    X, y, X_test, y_test = datasets.m_rotate(25, 10, seed=0)
    assert X.shape == (25, 784)
    assert len(X_test) == len(y_test) == 10
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(datasets.m_rotate(25, 10, seed=0)[1], y)


def test_damaged_files(folder, monkeypatch):
    images, labels = datasets.mnist()
    assert images.shape == (40, 28, 28)
    assert labels.tolist()[:2] == [0, 1]
    path = folder / "train-labels-idx1-ubyte.gz"
    raw = gzip.decompress(path.read_bytes())
    for content, message in [
        (gzip.compress(raw[:-3]), "cut short"),
        (gzip.compress(b"text"), "not an IDX file"),
        (path.read_bytes()[:20], "cannot be read"),
    ]:
        path.write_bytes(content)
        with pytest.raises(FileError, match=message):
            datasets.mnist()
    monkeypatch.setenv("COREKERNELS_DATA", str(folder / "nowhere"))
    with pytest.raises(FileError, match="is not a folder"):
        datasets.mnist()
    monkeypatch.delenv("COREKERNELS_DATA")
    with pytest.raises(FileError, match="COREKERNELS_DATA: not set"):
        datasets.mnist()
