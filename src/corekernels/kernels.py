"""Exact CoRE kernels: whole, in chunks, or into a file.

For two rows u and v with f1 and f2 nonzeros, a of them in shared columns:

- correlation   rho = <u, v> / (|u| |v|)
- resemblance   R   = a / (f1 + f2 - a)
- CoRE 1        K1  = rho R
- CoRE 2        K2  = rho sqrt(f1 f2) / (f1 + f2 - a)

and for each kernel K its exponential variant exp(-gamma (1 - K)). A row without
nonzeros has no direction and an empty support: every kernel with it is 0.

Time is that of the inner products alone (`_gram` says how), memory that of the
result plus a few tens of megabytes, plus a copy of the nonzeros in CSR (8 bytes each
in float32, 12 in float64) if they do not come that way. All functions take dense
arrays and SciPy sparse matrices and arrays of any format, keep float32, and run on
all cores unless `n_jobs` says otherwise; the number of threads never changes a bit of
the result.

References
----------
Ping Li, "CoRE Kernels", Uncertainty in Artificial Intelligence (UAI), 2014.
"""

import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import sklearn
from tqdm import tqdm

from ._core.validation import check_pair, read_only
from ._exact.gram import KERNELS, compact_columns, fill_gram, plan_columns
from ._loops.gram.blocks import vector_pair
from .errors import ParameterError
from .io import atomic_write

Array = npt.NDArray[Any]


def correlation(
    X: Any, Y: Any = None, *, gamma: float | None = None, n_jobs: int | None = None
) -> Any:
    """Cosine similarity of all pairs of rows, rho = <u, v> / (|u| |v|).

    The paper's "correlation": rows are not centred.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n, n_columns)
        Rows of any scale and sign.
    Y : {array-like, sparse matrix} of shape (m, n_columns), optional
        Other rows; X itself if None.
    gamma : float >= 0, optional
        If given, the exponential variant exp(-gamma (1 - rho)).
    n_jobs : int, optional
        Threads; None means all cores.

    Returns
    -------
    ndarray of shape (n, m), float32 if both inputs are, else float64. Two plain
    vectors give a float.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.correlation([[3.0, 4.0, 0.0]], [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    array([[0.8, 0. ]])
    """
    return _whole(X, Y, "correlation", gamma, n_jobs)


def resemblance(
    X: Any, Y: Any = None, *, gamma: float | None = None, n_jobs: int | None = None
) -> Any:
    """Resemblance (Jaccard similarity) of the supports of all pairs of rows.

    R = a / (f1 + f2 - a), where f1 and f2 count the nonzeros of the two rows and
    a the columns where both are nonzero. Parameters and result are those of
    `correlation`.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.resemblance([[3.0, 4.0, 0.0]], [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    array([[0.5, 0. ]])
    """
    return _whole(X, Y, "resemblance", gamma, n_jobs)


def core1(X: Any, Y: Any = None, *, gamma: float | None = None, n_jobs: int | None = None) -> Any:
    """CoRE kernel of type 1 of all pairs of rows, K1 = rho R.

    Correlation times resemblance: close to 1 only where both the values and the
    supports agree. On fully dense rows R = 1 and K1 is the cosine. Parameters and
    result are those of `correlation`.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.core1([[3.0, 4.0, 0.0]], [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    array([[0.4, 0. ]])

    It is a kernel for scikit-learn as it stands:

    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> X, y = load_digits(return_X_y=True)
    >>> round(SVC(kernel=ck.core1, C=10).fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]), 2)
    0.96
    """
    return _whole(X, Y, "core1", gamma, n_jobs)


def core2(X: Any, Y: Any = None, *, gamma: float | None = None, n_jobs: int | None = None) -> Any:
    """CoRE kernel of type 2 of all pairs of rows, K2 = rho sqrt(f1 f2) / (f1 + f2 - a).

    On binary rows it equals the resemblance. Parameters and result are those of
    `correlation`.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.core2([[3.0, 4.0, 0.0]], [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]).round(4)
    array([[0.5657, 0.    ]])
    """
    return _whole(X, Y, "core2", gamma, n_jobs)


def gram_chunks(
    X: Any,
    Y: Any = None,
    kernel: str = "core1",
    *,
    gamma: float | None = None,
    working_memory: float | None = None,
    n_jobs: int | None = None,
) -> Iterator[tuple[slice, Array]]:
    """Horizontal blocks of a Gram matrix that need not exist whole.

    Parameters
    ----------
    X, Y, gamma, n_jobs
        As for `correlation`.
    kernel : {"correlation", "resemblance", "core1", "core2"}
        Which kernel.
    working_memory : float, optional
        Megabytes a block may take; scikit-learn's `working_memory` (1024 unless
        configured otherwise) if None. A block holds at least one row.

    Yields
    ------
    (rows, block) : slice of X's rows, and their kernel values against all of Y.

    Examples
    --------
    >>> import corekernels as ck
    >>> import numpy as np
    >>> X = np.random.default_rng(0).poisson(0.2, size=(5000, 300)).astype(np.float32)
    >>> nearest = np.empty(len(X), int)
    >>> for rows, block in ck.gram_chunks(X, kernel="core2", working_memory=16):
    ...     np.fill_diagonal(block[:, rows], -1)
    ...     nearest[rows] = block.argmax(axis=1)
    """
    prepared = _Gram(X, Y, kernel, gamma, n_jobs)
    return prepared.chunks(_chunk_rows(prepared, working_memory))


def gram_to_file(
    path: str | os.PathLike[str],
    X: Any,
    Y: Any = None,
    kernel: str = "core1",
    *,
    gamma: float | None = None,
    working_memory: float | None = None,
    progress: bool | None = None,
    n_jobs: int | None = None,
) -> Array:
    """A Gram matrix in an `.npy` file, computed and written block by block.

    The file takes its name only once it is complete and on the disk: a run that is
    killed or fails leaves what stood at `path` before. On a terminal a progress bar
    shows the rows done.

    Parameters
    ----------
    path : path
        The file to create or replace, used as it is given.
    X, Y, kernel, gamma, working_memory, n_jobs
        As for `gram_chunks`.
    progress : bool, optional
        Whether to show a progress bar; None means where there is a terminal.

    Returns
    -------
    ndarray of shape (n, m), the finished file, memory-mapped read-only.

    Examples
    --------
    >>> import corekernels as ck
    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> K = ck.gram_to_file(os.path.join(folder.name, "K.npy"), [[3.0, 4.0], [0.0, 1.0]])
    >>> print(K)
    [[1.  0.4]
     [0.4 1. ]]
    >>> del K; folder.cleanup()
    """
    prepared = _Gram(X, Y, kernel, gamma, n_jobs)
    chunks = prepared.chunks(_chunk_rows(prepared, working_memory))
    header = {
        "descr": np.lib.format.dtype_to_descr(prepared.dtype),
        "fortran_order": False,
        "shape": prepared.shape,
    }
    n_bytes = math.prod(prepared.shape) * prepared.dtype.itemsize
    with (
        atomic_write(path, n_bytes) as file,
        tqdm(
            total=prepared.shape[0],
            desc=kernel,
            unit=" rows",
            disable=None if progress is None else not progress,
        ) as bar,
    ):
        np.lib.format.write_array_header_2_0(file, header)
        for rows, block in chunks:
            file.write(block.data)
            bar.update(rows.stop - rows.start)
            del block
    mapped: Array = np.lib.format.open_memmap(path, mode="r")
    return mapped


class _Gram:
    """A Gram matrix about to be computed: arguments checked, columns planned."""

    def __init__(
        self, X: Any, Y: Any, kernel: str, gamma: float | None, n_jobs: int | None
    ) -> None:
        if not isinstance(kernel, str) or kernel not in KERNELS:
            raise ParameterError(f"kernel: got {kernel!r}; choose one of {', '.join(KERNELS)}.")
        self.X, self.Y = compact_columns(*check_pair(X, Y))
        self.columns = plan_columns(self.X, self.Y)
        self.kernel, self.exponent, self.n_jobs = kernel, _exponent(gamma), n_jobs
        self.dtype = self.X.data.dtype
        self.shape = (len(self.X), len(self.X if self.Y is None else self.Y))

    def whole(self) -> Array:
        out = np.empty(self.shape, self.dtype)
        fill_gram(self.X, self.Y, self.columns, self.kernel, self.exponent, self.n_jobs, out)
        return out

    def chunks(self, size: int) -> Iterator[tuple[slice, Array]]:
        others = self.X if self.Y is None else self.Y
        for start in range(0, self.shape[0], size):
            block = self.X.block(start, min(start + size, self.shape[0]))
            out = np.empty((len(block), self.shape[1]), self.dtype)
            fill_gram(block, others, self.columns, self.kernel, self.exponent, self.n_jobs, out)
            if self.Y is None:
                np.fill_diagonal(out[:, start:], block.lengths > 0)
            yield slice(start, start + len(block)), out
            del out  # not to be held beside the next one


def _whole(X: Any, Y: Any, kernel: str, gamma: float | None, n_jobs: int | None) -> Any:
    if _is_vector(X) and _is_vector(Y):
        return _of_vectors(X, Y, kernel, gamma)
    return _Gram(X, Y, kernel, gamma, n_jobs).whole()


def _is_vector(X: Any) -> bool:
    try:
        return np.ndim(X) == 1 and np.size(X) > 0
    except ValueError:  # lists of different lengths; the door has the words for it
        return False


def _of_vectors(x: Any, y: Any, kernel: str, gamma: float | None) -> float:
    """The value for two vectors: scikit-learn's pairwise functions ask for it a million times."""
    u, v, out = np.asarray(x), np.asarray(y), np.empty(1)
    if u.dtype.kind in "biuf" and v.dtype.kind in "biuf" and u.shape == v.shape:
        u, v = read_only(u, np.float64), read_only(v, np.float64)
        if vector_pair(KERNELS[kernel], _exponent(gamma), u, v, out):
            return float(out[0])
    return float(_Gram(u[np.newaxis], v[np.newaxis], kernel, gamma, 1).whole()[0, 0])


def _exponent(gamma: float | None) -> float:
    """Gamma as the loops take it: -1 for no exponential."""
    if gamma is None:
        return -1.0
    if isinstance(gamma, np.ndarray) and gamma.size == 1:  # scikit-learn's Gaussian processes
        gamma = gamma.item()
    if not isinstance(gamma, int | float | np.number) or not (math.isfinite(gamma) and gamma >= 0):
        raise ParameterError(f"gamma: got {gamma!r}; give a finite number >= 0, or None.")
    return float(gamma)


def _chunk_rows(gram: _Gram, working_memory: float | None) -> int:
    limit = sklearn.get_config()["working_memory"] if working_memory is None else working_memory
    if not isinstance(limit, int | float | np.number) or not limit > 0:
        raise ParameterError(f"working_memory: got {limit!r}; give megabytes > 0, or None.")
    row_bytes = max(1, gram.shape[1]) * gram.dtype.itemsize
    return int(max(1, min(float(limit) * 2**20 / row_bytes, gram.shape[0])))
