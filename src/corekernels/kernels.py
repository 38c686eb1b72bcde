"""Exact CoRE kernels: whole, in chunks, or into a file.

For two rows u and v with f1 and f2 nonzeros, a of them in shared columns:

- correlation   rho = <u, v> / (|u| |v|)
- resemblance   R   = a / (f1 + f2 - a)
- CoRE 1        K1  = rho R
- CoRE 2        K2  = rho sqrt(f1 f2) / (f1 + f2 - a)
- CoRE RBF      K   = R exp(-gamma (1 - rho))

and for each of the first four its exponential variant exp(-gamma (1 - K)); the inner product
<u, v>; and kernels of one's own (`Kernel`). A row without nonzeros has no direction and an empty
support: every kernel of these with it is 0.

Time is that of the inner products alone (`_exact` says how), memory that of the
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
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from ._core.arguments import Array, PathLike, require_gamma
from ._core.progress import progress_bar
from ._exact import Formula, Gram, value_of_vectors
from .errors import ParameterError
from .io.atomic import atomic_write
from .io.npy import write_header
from .kernel_table import (
    CORE1,
    CORE2,
    CORE_RBF,
    CORRELATION,
    DEFAULT_GAMMA,
    RESEMBLANCE,
    Kernel,
    exact_kernel,
)
from .recipe import DEFAULT_KERNEL


def correlation(
    X: Any, Y: Any = None, *, gamma: float | None = None, n_jobs: int | None = None
) -> Any:
    """Cosine similarity of all pairs of rows, rho = <u, v> / sqrt(<u, u> <v, v>).

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
    return gram(X, Y, CORRELATION, gamma=gamma, n_jobs=n_jobs)


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
    >>> ck.resemblance([3.0, 4.0, 0.0], [0.0, 1.0, 0.0])
    0.5
    """
    return gram(X, Y, RESEMBLANCE, gamma=gamma, n_jobs=n_jobs)


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
    return gram(X, Y, CORE1, gamma=gamma, n_jobs=n_jobs)


def core2(X: Any, Y: Any = None, *, gamma: float | None = None, n_jobs: int | None = None) -> Any:
    """CoRE kernel of type 2 of all pairs of rows, K2 = rho sqrt(f1 f2) / (f1 + f2 - a).

    On binary rows it equals the resemblance. Parameters and result are those of
    `correlation`.

    Examples
    --------
    >>> import corekernels as ck
    >>> v = [0.0, 1.0, 0.0]
    >>> round(ck.core2([3.0, 4.0, 0.0], v), 4), ck.core2([1.0, 1.0, 0.0], v)
    (0.5657, 0.5)
    """
    return gram(X, Y, CORE2, gamma=gamma, n_jobs=n_jobs)


def core_rbf(
    X: Any, Y: Any = None, *, gamma: float = DEFAULT_GAMMA, n_jobs: int | None = None
) -> Any:
    """Resemblance times a Gaussian kernel of the unit rows, K = R exp(-gamma (1 - rho)).

    For unit rows 1 - rho is half their squared distance. More accurate than CoRE 1 on images,
    less on texts; the hash of CoRE 1 serves it too, almost as fast (`CoREHasher`).

    Parameters
    ----------
    X, Y, n_jobs
        As for `correlation`, and so the result.
    gamma : float >= 0
        How fast the kernel falls as rows turn away from each other; with 0 it is the
        resemblance. Values from 1 to 8 are worth trying.

    Examples
    --------
    >>> import corekernels as ck
    >>> u, v = [3.0, 4.0, 0.0], [0.0, 1.0, 0.0]
    >>> round(ck.core_rbf(u, v), 4), ck.core_rbf(u, v, gamma=0)
    (0.3352, 0.5)
    """
    return gram(X, Y, CORE_RBF, gamma=gamma, n_jobs=n_jobs)


def gram(
    X: Any, Y: Any = None, kernel: str | Kernel = DEFAULT_KERNEL, *, gamma: float | None = None,
    n_jobs: int | None = None,
) -> Any:  # fmt: skip
    """Kernel values of all pairs of rows, for any kernel.

    Parameters
    ----------
    X, Y, n_jobs
        As for `correlation`.
    kernel : {"correlation", "resemblance", "core1", "core2", "core_rbf", "inner_product"} or Kernel
        Which kernel, by name or as an object of one's own.
    gamma : float >= 0, optional
        The gamma of core_rbf, 2 if None; for the others as for `correlation`.

    Returns
    -------
    As for `correlation`.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.gram([[3.0, 4.0, 0.0]], [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]], "inner_product")
    array([[4., 0.]])
    """
    formula = _formula(kernel, gamma)
    if _is_vector(X) and _is_vector(Y):
        return value_of_vectors(X, Y, formula)
    return Gram(X, Y, formula, n_jobs).whole()


def gram_chunks(
    X: Any, Y: Any = None, kernel: str | Kernel = DEFAULT_KERNEL, *, gamma: float | None = None,
    working_memory: float | None = None, n_jobs: int | None = None,
) -> Iterator[tuple[slice, Array]]:  # fmt: skip
    """Horizontal blocks of a Gram matrix that need not exist whole.

    Parameters
    ----------
    X, Y, kernel, gamma, n_jobs
        As for `gram`.
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
    matrix = Gram(X, Y, _formula(kernel, gamma), n_jobs)
    return matrix.chunks(_chunk_rows(matrix, working_memory))


def gram_to_file(
    path: PathLike, X: Any, Y: Any = None, kernel: str | Kernel = DEFAULT_KERNEL, *,
    gamma: float | None = None, working_memory: float | None = None, progress: bool | None = None,
    n_jobs: int | None = None,
) -> Array:  # fmt: skip
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
    >>> K = ck.gram_to_file("K.npy", [[3.0, 4.0], [0.0, 1.0]])
    >>> print(K)
    [[1.  0.4]
     [0.4 1. ]]
    """
    matrix = Gram(X, Y, _formula(kernel, gamma), n_jobs)
    chunks = matrix.chunks(_chunk_rows(matrix, working_memory))
    n_bytes = math.prod(matrix.shape) * matrix.dtype.itemsize
    with (
        atomic_write(path, n_bytes) as file,
        progress_bar(matrix.shape[0], matrix.formula.kernel.name, "rows", progress) as bar,
    ):
        write_header(file, matrix.shape, matrix.dtype)
        for rows, block in chunks:
            file.write(block.data)
            bar.update(rows.stop - rows.start)
            del block
    return np.lib.format.open_memmap(path, mode="r")


def _is_vector(X: Any) -> bool:
    if sparse.issparse(X):
        return bool(X.ndim == 1)
    try:
        return np.ndim(X) == 1 and np.size(X) > 0
    except ValueError:  # lists of different lengths, which `check_pair` refuses in its own words
        return False


def _formula(kernel: str | Kernel, gamma: Any) -> Formula:
    """The kernel with its own gamma or, if it has none, the exponential variant with this one."""
    entry = exact_kernel(kernel)
    if entry.gamma is not None or gamma is None:
        return Formula(exact_kernel(entry, gamma))
    if not entry.unit_diagonal:
        raise ParameterError(
            f"gamma: exp(-gamma (1 - K)) is for kernels with K = 1 for equal rows, which "
            f"{entry.name} is not; leave it out."
        )
    return Formula(entry, require_gamma(gamma))


def _chunk_rows(matrix: Gram, working_memory: float | None) -> int:
    if working_memory is None:
        import sklearn  # on use: importing it takes longer than most jobs

        working_memory = sklearn.get_config()["working_memory"]
    if not isinstance(working_memory, int | float | np.number) or not working_memory > 0:
        raise ParameterError(
            f"working_memory: got {working_memory!r}; give megabytes > 0, or None."
        )
    row_bytes = max(1, matrix.shape[1]) * matrix.dtype.itemsize
    return int(max(1, min(float(working_memory) * 2**20 / row_bytes, matrix.shape[0])))
