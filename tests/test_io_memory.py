"""Peak memory of reading and converting does not grow with the file."""

import os
import subprocess
import sys

import pytest

MEASURE = """
import sys
import numpy as np
from scipy import sparse
from corekernels import io

def reset():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")

def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1024

BATCH = 1 << 18
rng = np.random.default_rng(0)
X = sparse.random_array((1000, 300), density=0.2, format="csr", rng=rng)
COPIES = {"rows.svm": 12, "rows.svm.gz": 12, "rows.npz": 40, "rows.npy": 40, "rows.parquet": 120}
for name, more in COPIES.items():
    peaks = []
    for copies in (2, 2, more):     # the first round loads libraries
        y = None if name == "rows.npy" else np.arange(1000) % 3
        reset()
        with io.RowWriter(name) as writer:
            for _ in range(copies):
                writer.write(X, y)
        written = peak()
        reset()
        n_rows = sum(b.X.shape[0] for b in io.open_rows(name, batch_bytes=BATCH))
        assert n_rows == 1000 * copies
        peaks.append((written, peak()))
    (_, (wrote, read), (wrote_more, read_more)) = peaks
    print(name, wrote_more - wrote, read_more - read)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="needs Linux")
def test_memory_is_flat(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    for line in run.stdout.splitlines():
        name, written, read = line.split()
        # growth of the file: 14 MB of text (30 once parsed), 27 or, for Parquet, 85 MB of arrays
        bound = 40e6 if "parquet" in name else 12e6  # pyarrow's allocator keeps pages for a while
        assert max(int(written), int(read)) < bound, line
    assert len(run.stdout.splitlines()) == 5
