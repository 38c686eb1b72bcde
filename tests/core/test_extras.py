"""Packages of optional extras: a missing one is an error that names the extra."""

import sys

import pytest

from corekernels import plotting
from corekernels._core.extras import require_extra
from corekernels.errors import MissingExtra


def test_an_installed_package_is_imported():
    assert require_extra("numpy.linalg", "plot", "figures").norm([3, 4]) == 5


def test_a_module_of_a_missing_package_is_missing(monkeypatch):
    require_extra("numpy.linalg", "plot", "figures")  # loaded already
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(MissingExtra, match=r"figures need numpy, .*'corekernels\[plot\]'"):
        require_extra("numpy.linalg", "plot", "figures")


def test_figures_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"figures need matplotlib, .*'corekernels\[plot\]'"):
        plotting.require_figure("accuracy.png")
