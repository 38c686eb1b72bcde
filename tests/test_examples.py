"""The examples run as they are."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "examples"
EXAMPLES = sorted(FOLDER.glob("plot_*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_example_draws_its_figure(script, tmp_path):
    if script.stem == "plot_search":
        for peer in ("hnswlib", "pynndescent"):
            pytest.importorskip(peer, reason=f"{peer} comes with the extra `bench`")
    figure = tmp_path / "figure.png"
    subprocess.run(
        [sys.executable, "-W", "error", script, figure],
        env=os.environ | {"MPLBACKEND": "Agg"},
        check=True,
    )
    assert figure.stat().st_size > 10_000


@pytest.mark.slow
@pytest.mark.parametrize("script", sorted(FOLDER.glob("documents_*.py")), ids=lambda s: s.stem)
def test_example_of_documents(script, tmp_path):
    subprocess.run([sys.executable, "-W", "error", script, tmp_path], check=True)
    assert len(list(tmp_path.iterdir())) >= 2
