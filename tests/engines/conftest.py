"""Engines, each started once; those that are not there are skipped, with the reason."""

import os
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits

from corekernels import files, io
from corekernels.errors import MissingExtra

CLUSTERS = [pytest.param(name, marks=pytest.mark.engines) for name in ("dask", "spark")]


def started(name):
    here = [path for path in sys.path if path.endswith("tests")]  # where `support` is
    os.environ["PYTHONPATH"] = os.pathsep.join([*here, os.environ.get("PYTHONPATH", "")])
    try:
        return files.open_engine(name, workers=2)
    except MissingExtra as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session", params=["local", *CLUSTERS])
def engine(request):
    """This process, Dask, Spark."""
    with started(request.param) as engine:
        yield engine


@pytest.fixture(scope="session")
def local():
    with files.open_engine("local", workers=2) as engine:
        yield engine


@pytest.fixture(scope="session")
def digits():
    X, y = load_digits(return_X_y=True)
    return X, y


@pytest.fixture(scope="session")
def folders(tmp_path_factory, digits):
    """Folders `parquet`, `svm`, `npz` of four files each of digits, 100, 90, 80 and 70 of them."""
    X, y = digits
    base = tmp_path_factory.mktemp("digits")
    ends = np.cumsum([0, 100, 90, 80, 70])
    for suffix in ("parquet", "svm", "npz"):
        (base / suffix).mkdir()
        for number in range(4):
            some = slice(ends[number], ends[number + 1])
            io.write_rows(base / suffix / f"rows-{number}.{suffix}", X[some], y[some])
    return base
