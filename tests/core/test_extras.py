"""Packages of optional extras: a missing one is an error that names the extra."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from corekernels._core.arguments import require_extra
from corekernels.errors import MissingExtra
from corekernels.report.drawing import require_figure


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
        require_figure("accuracy.png")


WITHOUT_EXTRAS = """
import contextlib, json, pathlib, sys, tempfile
for package in ("typer", "rich", "matplotlib", "jinja2", "pyarrow", "distributed",
                "pyspark"):
    sys.modules[package] = None
import corekernels as ck
import corekernels.report.drawing, corekernels.report.layout
from corekernels import files, report
from corekernels.__main__ import main
from corekernels.errors import MissingExtra

folder = pathlib.Path(tempfile.mkdtemp())
calls = {
    "cli": main,
    "dask": lambda: files.open_engine("dask"),
    "spark": lambda: files.open_engine("spark"),
    "documents": lambda: list(ck.documents.open_documents(folder / "texts.csv", text="text")),
    "parquet": lambda: ck.io.write_rows(folder / "rows.parquet", [[1.0]]),
    "plot": lambda: report.drawing.require_figure("figure.png"),
    "report": lambda: report.write_page(report.layout.Report("", [], []), folder / "page.html"),
}
(folder / "texts.csv").write_text("text\\nwords\\n")
said = {}
for extra, call in calls.items():
    try:
        call()
    except MissingExtra as error:
        said[extra] = str(error)
    except SystemExit as error:
        said[extra] = f"exit code {error.code}"
print(json.dumps(said))
"""


def test_without_any_extra_each_is_named():
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS], capture_output=True, text=True, check=True
    )
    said = json.loads(ended.stdout)
    assert said.pop("cli") == "exit code 2"
    assert "pip install 'corekernels[cli]'" in ended.stderr
    for extra, text in said.items():
        assert f"pip install 'corekernels[{extra}]'" in text
    assert {"cli", *said} == for_users() - {"all"}


def test_all_is_every_extra():
    (everything,) = extras()["all"]
    assert set(everything.removeprefix("corekernels[").removesuffix("]").split(",")) == (
        for_users() - {"all"}
    )


def extras():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    return project["optional-dependencies"]


def for_users():
    """The extras that are not for work on the package itself."""
    return set(extras()) - {"bench", "docs", "release", "reproduction", "test"}
