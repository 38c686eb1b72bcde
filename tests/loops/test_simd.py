"""Vector operations and their plain Python twins: also run with NUMBA_DISABLE_JIT=1."""

import os
import pathlib
import platform
import subprocess
import sys
from importlib.metadata import requires

import numba
import numpy as np
import pytest

from corekernels._loops.simd import SUPPORTED_NUMBA, halves
from corekernels._loops.simd.integers import popcount


def test_popcount():
    assert [popcount(np.uint32(word)) for word in (0, 1, 0xFFFFFFFF, 0b1011)] == [0, 1, 32, 3]


@np.errstate(over="ignore", invalid="ignore")  # on ARM, NumPy warns of NaNs that signal
def test_halves():
    """All of them there and back, and numbers between two of them, as NumPy has it."""
    every = np.arange(2**16, dtype=np.uint16)
    exact, found = every.view(np.float16).astype(np.float32), np.empty(2**16, np.float32)
    halves.read_weights(np.stack([every, every])[::-1].copy(), 1, 0, 2**16, found)
    np.testing.assert_array_equal(found, exact)
    halves.read_weights(every.reshape(256, -1), 5, 7, 20, found)
    np.testing.assert_array_equal(found[:13], exact[5 * 256 + 7 : 5 * 256 + 20])
    above = exact[:0x7C00]
    middle = (above[1:] + above[:-1]) / 2
    ends = np.array([1e-30, 1e-9, 65520, 1e9], np.float32)
    some = [np.nextafter(middle, np.float32(0)), middle, np.nextafter(middle, np.float32(1e6))]
    numbers = np.concatenate([above, *some, ends])
    numbers = np.concatenate([numbers, -numbers])
    out = np.empty(len(numbers), np.uint16)
    halves.write_halves(numbers, out)
    expected = numbers.astype(np.float16).view(np.uint16)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(("dtype", "bits"), [(np.int8, 4), (np.int16, 8)])
def test_slots(dtype, bits):
    """All codes with all levels: written, and read again."""
    n = 2**bits
    levels, codes = (part.ravel() for part in np.meshgrid(np.arange(-n // 2, n // 2), np.arange(n)))
    per_unit = np.float32(n / 4)
    weights = ((levels + 0.5) / per_unit).astype(np.float16)
    weights[levels == n // 2 - 1] = 1000  # beyond the last level
    weights[levels == -n // 2] = -1000
    out = codes.astype(dtype)
    halves.write_levels(weights.view(np.uint16), per_unit, out)
    np.testing.assert_array_equal(out, (n * levels + codes).astype(dtype))
    assert [int(halves.code_of(slot)) for slot in out[:: n // 4 + 1]] == list(codes[:: n // 4 + 1])
    assert halves.code_of(np.uint16(70)) == 70
    found = np.empty(len(out) - 3, np.float32)
    halves.read_weights(np.stack([out, out]), 1, 3, len(out), found)
    np.testing.assert_array_equal(found, 2 * levels[3:] + 1)


def run_on(processor, features, code, cache):
    """Run code that is compiled for another processor."""
    target = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": features}
    environment = {**os.environ, **target, "NUMBA_CACHE_DIR": str(cache)}
    folder = pathlib.Path(__file__).parent
    subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, check=True)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="others convert halves")
def test_halves_on_a_processor_without_instructions_for_them(tmp_path):
    code = (
        "import numba, test_simd; test_simd.test_halves()\n"
        "from corekernels._loops.simd.halves import read_weights\n"
        "assert numba.config.DISABLE_JIT or 'vcvtph2ps' not in str(read_weights.inspect_asm())"
    )
    run_on("generic", "", code, tmp_path)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="others have it")
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="there is no machine code")
def test_no_function_is_called_where_there_is_no_fused_multiply_add(tmp_path):
    """A function for every number would make hashing fourteen times slower."""
    code = (
        "import numpy as np\n"
        "from numba import njit\n"
        "from corekernels._loops.simd.vectors import load, multiply_add, store\n"
        "@njit\n"
        "def run(x, y, z, out):\n"
        "    store(multiply_add(load(x, 0), load(y, 0), load(z, 0)), 0, out)\n"
        "x, y, z = np.random.default_rng(0).random((3, 8), np.float32)\n"
        "out = np.empty(8, np.float32)\n"
        "run(x, y, z, out)\n"
        "assert (out == x * y + z).all()\n"  # each operation rounded
        "assert 'fma' not in str(run.inspect_asm())"
    )
    run_on("nehalem", "+sse4.2,+popcnt", code, tmp_path)


def test_numba_is_of_a_version_that_the_vector_operations_are_tested_with():
    """Beyond it: see src/corekernels/_loops/simd/README.md, and raise both ceilings."""
    least, below = SUPPORTED_NUMBA
    required = [line for line in requires("corekernels") or [] if line.startswith("numba")]
    assert required == [f"numba<{below},>={least}"], "pyproject.toml and simd disagree"
    numbers = [tuple(map(int, text.split(".")[:2])) for text in (least, numba.__version__, below)]
    assert numbers[0] <= numbers[1] < numbers[2], (
        f"Numba {numba.__version__} is installed; vector operations support {least} up to, not "
        f"including, {below}"
    )
