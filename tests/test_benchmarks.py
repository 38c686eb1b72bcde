"""Benchmarks time functions by their names, which must be there."""

import importlib
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture
def jobs(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield importlib.import_module("jobs")
    for name in ("jobs", "measure", "clusters"):
        sys.modules.pop(name, None)


def test_stages_of_jobs_are_functions_that_exist(jobs):
    for places in jobs.STAGES.values():
        for module, owner, name in places:
            place = importlib.import_module(module)
            assert callable(getattr(getattr(place, owner) if owner else place, name))
