"""The rows of the benchmarks: real ones from the folder COREKERNELS_DATA, else generated ones."""

import gzip
import os
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

SEED = 0


def folder() -> Path | None:
    """The folder of real data, or None for generated stand-ins."""
    return Path(os.environ["COREKERNELS_DATA"]) if "COREKERNELS_DATA" in os.environ else None


def describe() -> str:
    """Which of the two the numbers are about."""
    return "real" if folder() else f"generated, seed {SEED}"


def news() -> sparse.csr_matrix:
    """TF-IDF rows of 20 Newsgroups, 11,314 x 53,663, float64."""
    source = folder()
    counts = sparse.load_npz(source / "20news/train_tf.npz") if source else _zipf_counts()
    return TfidfTransformer(sublinear_tf=True).fit_transform(counts).tocsr()


def mnist(part: str = "t10k") -> np.ndarray:
    """Images as float32 rows of 784: 10,000 of part "t10k", 60,000 of part "train"."""
    source = folder()
    if not source:
        return _blobs(10_000 if part == "t10k" else 60_000)
    with gzip.open(source / f"mnist/{part}-images-idx3-ubyte.gz") as file:
        return np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784).astype(np.float32)


def _zipf_counts(n_rows: int = 11_314, n_columns: int = 53_663) -> sparse.csr_array:
    """Word counts: Zipf's law over the columns, log-normal lengths, a few empty rows."""
    rng = np.random.default_rng(SEED)
    lengths = (rng.lognormal(4.9, 0.9, n_rows) * (rng.random(n_rows) > 0.003)).astype(np.int64)
    weights = 1 / (np.arange(n_columns) + 10.0)
    words = rng.choice(n_columns, lengths.sum(), p=weights / weights.sum())
    rows = np.repeat(np.arange(n_rows), lengths)
    counts = sparse.coo_array((np.ones(len(rows)), (rows, words)), shape=(n_rows, n_columns))
    return counts.tocsr()


def _blobs(n_rows: int) -> np.ndarray:
    """Images of 28 x 28 in which about a fifth of the pixels, the middle ones mostly, are on."""
    rng = np.random.default_rng(SEED)
    x, y = np.meshgrid(np.linspace(-1, 1, 28), np.linspace(-1, 1, 28))
    chance = (0.6 * np.exp(-3 * (x**2 + y**2))).ravel().astype(np.float32)
    rows = np.empty((n_rows, 784), np.float32)
    for start in range(0, n_rows, 10_000):
        on = rng.random((min(10_000, n_rows - start), 784), np.float32) < chance
        rows[start : start + 10_000] = on * rng.integers(1, 256, on.shape)
    return rows
