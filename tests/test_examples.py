"""The examples run as they are. `make docs` runs them too, and shows what they draw."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*/plot_*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_example_runs(script, tmp_path):
    subprocess.run(
        [sys.executable, "-W", "error", script],
        env=os.environ | {"MPLBACKEND": "Agg"},
        cwd=tmp_path,
        check=True,
    )
    assert not list(tmp_path.iterdir())  # what they write, they remove


def test_there_are_examples():
    assert len(EXAMPLES) >= 8
