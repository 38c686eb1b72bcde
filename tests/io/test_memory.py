"""Peak memory of reading and converting does not grow with the file."""

from support import peaks

MEASURE = """
import numpy as np
from scipy import sparse
from corekernels import io

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


@peaks.needs_linux
def test_memory_is_flat(tmp_path):
    lines = peaks.output_of(MEASURE, tmp_path).splitlines()
    for line in lines:
        name, written, read = line.split()
        # growth of the file: 14 MB of text (30 once parsed), 27 or, for Parquet, 85 MB of arrays
        bound = 40e6 if "parquet" in name else 12e6  # pyarrow's allocator keeps pages for a while
        assert max(int(written), int(read)) < bound, line
    assert len(lines) == 5
