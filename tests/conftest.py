import pytest
from sklearn.datasets import load_digits

from corekernels import io


@pytest.fixture(scope="session")
def digit_files(tmp_path_factory):
    """A folder with `train.svm` (400 digits) and `test.svm` (200)."""
    folder = tmp_path_factory.mktemp("digits")
    X, y = load_digits(return_X_y=True)
    io.write_rows(folder / "train.svm", X[:400], y[:400])
    io.write_rows(folder / "test.svm", X[400:600], y[400:600])
    return folder


@pytest.fixture
def in_digits(digit_files, tmp_path, monkeypatch):
    """A fresh working folder with the same files."""
    for name in ("train.svm", "test.svm"):
        (tmp_path / name).symlink_to(digit_files / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path
