"""Peak memory above the result, measured in a fresh process."""

import subprocess
import sys

import pytest

MEASURE = """
import resource, sys, numpy as np
from scipy import sparse
import corekernels as ck

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

rng = np.random.default_rng(0)
{make}
ck.core1(X[:50])                  # compiled, libraries loaded
before = peak()
K = ck.core1(X)
print(peak() - before - K.nbytes, K.nbytes)
"""

MATRICES = {
    "dense": "X = rng.poisson(0.2, (9000, 784)).astype(np.float32)",
    "sparse": "X = sparse.random_array((9000, 50_000), density=0.002, format='csr', "
    "dtype=np.float32, rng=rng)",
    "wide": "X = rng.normal(size=(300, 60_000)).astype(np.float32)",
    "more columns than values": "X = sparse.csr_array((np.ones(3_000_000, np.float32), "
    "rng.integers(0, 36_000_000, 3_000_000), np.arange(0, 3_000_001, 500)), "
    "shape=(6000, 36_000_000))",
}


@pytest.mark.parametrize("make", MATRICES.values(), ids=MATRICES.keys())
def test_peak_memory_is_the_result_and_little_more(make):
    code = MEASURE.format(make=make)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    above, result = map(int, run.stdout.split())
    assert above <= max(256e6, 0.15 * result)
