"""Hashes are the same on every processor, and so is what is learned and found with them."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest

from support import processors

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="names processors of another kind"
)
ROUNDING = 2.0**-24  # of numbers of single precision


def elsewhere(what, folder, **environment):
    """The arrays of `support.processors` from a process with this environment."""
    target = folder / "arrays.npz"
    command = [sys.executable, processors.__file__, what, str(target)]
    subprocess.run(command, env={**os.environ, **environment}, check=True)
    return np.load(target)


def without_vectors(what, folder):
    """The same for a processor without vectors of more than two numbers and without fused sums."""
    cache = str(folder / "cache")
    return elsewhere(
        what, folder, NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="", NUMBA_CACHE_DIR=cache
    )


def half_spacing(weights):
    """The unit in the last place of halves."""
    size = np.abs(weights)
    return (np.nextafter(size, np.float16(np.inf)) - size).astype(float)


def test_signatures_do_not_depend_on_the_library_of_linear_algebra(tmp_path):
    """Bit for bit, signs of zero included, where it runs the code of an old processor."""
    here, there = processors.signatures(), elsewhere(
        "signatures", tmp_path, OPENBLAS_CORETYPE="Prescott"
    )  # fmt: skip
    for name, array in here.items():
        if not name.endswith("estimates"):
            assert array.tobytes() == there[name].tobytes(), name


@pytest.mark.slow
def test_signatures_of_a_processor_without_vectors(tmp_path):
    """Codes and values are equal; projections and cosines differ as far as the contract says."""
    here, there = processors.signatures(), without_vectors("signatures", tmp_path)
    for name, array in here.items():
        kernel, what = name.split("/")[0], name.split("/")[-1]
        if what == "estimates":
            # means of products of two weights, which differ by 2^-10 of each at most, and whose
            # magnitude is 1 on average; 130 of them are summed in single precision
            atol = 2.0**-9 + 130 * ROUNDING
            np.testing.assert_allclose(array, there[name], rtol=0, atol=atol)
        elif what == "weights" and kernel != "core2":
            lengths = here[name.replace("weights", "lengths")][:, None]
            slope = np.sqrt(2 * 2.0) if kernel == "core_rbf" else 1.0  # sqrt(2 gamma)
            cancelled = 10 * ROUNDING * np.sqrt(lengths) * slope
            distance = np.abs(array.astype(float) - there[name].astype(float))
            assert (distance <= np.maximum(half_spacing(array), cancelled)).all(), name
        else:
            np.testing.assert_array_equal(array, there[name], err_msg=name)


@pytest.mark.slow
def test_answers_of_a_processor_without_vectors(tmp_path):
    here, there = processors.answers(), without_vectors("answers", tmp_path)
    for name, array in here.items():
        assert array.size
        np.testing.assert_array_equal(array, there[name], err_msg=name)
