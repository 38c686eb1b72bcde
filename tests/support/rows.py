"""Rows of given columns and values."""

import numpy as np
from scipy import sparse


def compact_rows(values, columns, indptr, n_columns):
    """A CSR array with column numbers of 32 bits if these suffice, as most matrices have.

    Loops are compiled per type: an array of 64 bits where 32 suffice would compile all anew.
    """
    dtype = np.int32 if n_columns < 2**31 else np.int64
    arrays = np.asarray(values), np.asarray(columns, dtype), np.asarray(indptr, dtype)
    return sparse.csr_array(arrays, shape=(len(indptr) - 1, n_columns))
