"""Hypothesis matrices with everything that real ones have and nobody expects."""

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

DTYPES = (np.float32, np.float64)
FORMATS = ("dense", "csr_array", "csr_matrix", "csc_array", "csc_matrix", "coo_array", "coo_matrix")


@st.composite
def messy_csr(draw, n_columns=None, dtype=None, max_rows=9):
    """CSR arrays: empty rows, stored zeros, columns unsorted and twice, any sign or index type."""
    n_rows = draw(st.integers(1, max_rows))
    n_columns = draw(st.integers(1, 70)) if n_columns is None else n_columns
    dtype = draw(st.sampled_from(DTYPES)) if dtype is None else dtype
    index_type = draw(st.sampled_from((np.int32, np.int64)))
    lengths = draw(st.lists(st.integers(0, 12), min_size=n_rows, max_size=n_rows))
    if draw(st.booleans()):
        lengths = [length * n_columns // 8 for length in lengths]  # some matrices are full
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    total = sum(lengths)
    indices = rng.integers(0, n_columns, total).astype(index_type)
    # small integers make duplicates that cancel and products that are exact
    values = rng.choice([-2, -1, 0, 1, 2, 3], total)
    if draw(st.booleans()):
        values = values * rng.lognormal(sigma=2, size=total)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(index_type)
    return sparse.csr_array((values.astype(dtype), indices, indptr), shape=(n_rows, n_columns))


@st.composite
def messy_pair(draw):
    """Two matrices over the same columns, of possibly different types and formats."""
    X = draw(messy_csr())
    Y = draw(messy_csr(n_columns=X.shape[1]))
    return in_format(X, draw(st.sampled_from(FORMATS))), in_format(
        Y, draw(st.sampled_from(FORMATS))
    )


def in_format(X, name):
    """X in another container; a CSR stays as messy as it is."""
    if name == "dense":
        return X.toarray()
    if name.startswith("csr"):
        return X if name.endswith("array") else sparse.csr_matrix(X)
    coo = X.tocoo()  # keeps duplicates and stored zeros
    return getattr(sparse, name)((coo.data, (coo.row, coo.col)), shape=X.shape)
