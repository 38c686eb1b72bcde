"""Peak memory above the result, measured in a fresh process."""

import pytest

from support import peaks

MEASURE = """
import numpy as np
from scipy import sparse
import corekernels as ck

rng = np.random.default_rng(0)
{make}
ck.core1(X[:50])                  # compiled, libraries loaded
reset()
before = peak()
K = ck.core1(X)
print(peak() - before - K.nbytes, K.nbytes)
"""

# a copy of the result of the first two, or 8 bytes per column of the last, would exceed 256 MB
MATRICES = {
    "dense": "X = rng.poisson(0.2, (6500, 784)).astype(np.float32)",
    "sparse": "X = sparse.random_array((6500, 50_000), density=0.002, format='csr', "
    "dtype=np.float32, rng=rng)",
    "wide": "X = rng.normal(size=(300, 60_000)).astype(np.float32)",
    "more columns than values": "X = sparse.csr_array((np.ones(1_000_000, np.float32), "
    "rng.integers(0, 36_000_000, 1_000_000), np.arange(0, 1_000_001, 500)), "
    "shape=(2000, 36_000_000))",
}


@peaks.needs_linux
@pytest.mark.parametrize("make", MATRICES.values(), ids=MATRICES.keys())
def test_peak_memory_is_the_result_and_little_more(make, tmp_path):
    above, result = map(int, peaks.output_of(MEASURE.format(make=make), tmp_path).split())
    assert above <= max(256e6, 0.15 * result)
