"""Levels: rows of values to rows of 0 and 1 whose resemblance is the min-max kernel."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from ._core.arguments import require_choice, require_integer, seed_of
from ._core.estimator import RowsEstimator
from ._core.team import Team
from ._core.validation import Rows, clean_rows, read_only
from ._loops import levels as loops
from ._loops.simd.integers import LINE
from .errors import DataError, ParameterError

SCALES = ("max", "std")
_STANDARD_DEVIATIONS = 3  # at which values are clipped
_MOST_LEVELS = 2**31 - 1
_MOST_COLUMNS = 2**63 - 1
_MOST_NAMES = 1 << 24
_BLOCK_VALUES = 1 << 15  # of a block of rows, about


class Levels(TransformerMixin, RowsEstimator):
    """Rows written as levels: the resemblance of the result is the min-max kernel of the rows.

    The min-max kernel sum_i min(u_i, v_i) / sum_i max(u_i, v_i) is the similarity of counts that
    other fields call count Tanimoto, Ruzicka or weighted Jaccard. All that is there for resemblance
    (exact values, hashing, error bars, search, near-duplicates, learning) is thereby there for it.

    A count c in a column becomes c columns of value 1, its first c levels, which is exact. A real
    value v becomes the levels j with j - 1 + r < v / d, where d is the column's scale divided by
    `n_levels` and r, from 0 to 1, a random number of the column. That is right on average; with 784
    columns and 16 levels the error is 0.0013 (root mean square, images).

    Parameters
    ----------
    n_levels : int or None
        Levels of a column, for real values. None for counts: whole numbers from 0 to `max_level`.
    scale : {"max", "std"}
        What has `n_levels` levels: the largest absolute value that `fit` saw in the column, or
        three of its standard deviations. Larger values have `n_levels` levels, too. Not for counts.
    signs : bool
        Whether values below 0 have levels of their own, in columns beside those of values above 0.
        If not, values below 0 are refused.
    max_level : int
        The largest count. Each column has as many columns in the result, so that rows that are
        transformed later fit; larger counts are refused.
    random_state : int, RandomState instance or None
        Seed of the random numbers.
    n_jobs : int, optional
        Threads; None means all cores. Never changes the result.

    Attributes
    ----------
    scale_ : ndarray of shape (n_columns,)
        The value that has `n_levels` levels; 1 for a column that had no such value. Not for counts.
    offsets_ : ndarray of shape (n_columns,)
        The random numbers. Not for counts.
    n_features_in_ : int
    feature_names_in_ : ndarray, if X had names

    Examples
    --------
    >>> import corekernels as ck
    >>> counts = [[3, 0, 1], [2, 2, 1]]
    >>> X = ck.Levels(None, max_level=4).fit_transform(counts)
    >>> X.toarray().astype(int).tolist()
    [[1, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0], [1, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0]]
    >>> ck.resemblance(X)  # (2 + 0 + 1) / (3 + 2 + 1)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    scale_: npt.NDArray[np.float64]
    offsets_: npt.NDArray[np.float64]

    def __init__(
        self, n_levels: int | None = 16, *, scale: str = "max", signs: bool = False,
        max_level: int = 255, random_state: Any = None, n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        self.n_levels = n_levels
        self.scale = scale
        self.signs = signs
        self.max_level = max_level
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> "Levels":
        """Learn the scale of each column; of counts, only see that they are counts."""
        require_choice("scale", self.scale, SCALES)
        matrix = self._fitting_matrix(X)
        self._n_features_out = matrix.shape[1] * self._n_signs * self._width
        if self._n_features_out > _MOST_COLUMNS:
            raise ParameterError(
                f"{'max_level' if self.n_levels is None else 'n_levels'}: got {self._width}, which "
                f"makes more than 2**63 columns of {matrix.shape[1]}; give a smaller one."
            )
        rows = clean_rows(matrix, n_jobs=self.n_jobs)
        self._refuse_unfit(rows)
        if self.n_levels is not None:
            self.offsets_ = np.random.default_rng(seed_of(self.random_state)).random(rows.n_columns)
            self.scale_ = self._scale_of(rows)
        return self

    def transform(self, X: Any) -> sparse.csr_array:
        """Sparse rows of 0 and 1, float32 if X is, else float64."""
        rows = clean_rows(self._fitted_matrix(X), n_jobs=self.n_jobs)
        self._refuse_unfit(rows)
        team, n_rows = Team(self.n_jobs), len(rows)
        block_rows = max(1, _BLOCK_VALUES * n_rows // max(1, rows.nnz))
        arrays = rows.indptr, rows.indices
        if self.n_levels is None:
            levels = rows.data.astype(np.int32)
        else:
            levels = np.empty(rows.nnz, np.int32)
            of_columns = read_only(self._width / self.scale_), read_only(self.offsets_)
            rounding = *arrays, rows.data, *of_columns, float(self._width), levels
            team.run(loops.round_to_levels, rounding, n_rows, block_rows)
        ends = np.zeros(n_rows + 1, np.int64)
        loops.count_levels(rows.indptr, read_only(levels), ends[1:])
        np.cumsum(ends, out=ends)
        index_type: Any = np.int64 if max(self._n_features_out, ends[-1]) >= 2**31 else np.int32
        indices, data = np.empty(ends[-1], index_type), np.empty(ends[-1], rows.data.dtype)
        line = read_only(np.arange(LINE // indices.itemsize, dtype=index_type))
        expansion = (
            *arrays, read_only(levels), self._width, self._n_signs, line, ends, indices, data
        )  # fmt: skip
        team.run(loops.expand_levels, expansion, n_rows, block_rows)
        shape = n_rows, self._n_features_out
        return sparse.csr_array((data, indices, ends.astype(index_type)), shape=shape)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the columns: that of the column in X and the level, as in `x0_1`."""
        check_is_fitted(self)
        if self._n_features_out > _MOST_NAMES:
            raise ParameterError(f"X: {self._n_features_out} columns are too many to be named.")
        names = _check_feature_names_in(self, input_features)
        signs = ("", "-")[: self._n_signs]
        levels = [f"{sign}{level}" for sign in signs for level in range(1, self._width + 1)]
        return np.array([f"{name}_{level}" for name in names for level in levels], object)

    @property
    def _width(self) -> int:
        """Columns of the result for each column and sign."""
        if self.n_levels is None:
            return require_integer("max_level", self.max_level, 1, _MOST_LEVELS)
        return require_integer("n_levels", self.n_levels, 1, _MOST_LEVELS)

    @property
    def _n_signs(self) -> int:
        return 2 if self.signs else 1

    def _scale_of(self, rows: Rows) -> npt.NDArray[np.float64]:
        """The value of each column that has all levels; 1 where there is none."""
        arrays = rows.data, rows.indices, rows.indptr
        X = sparse.csr_array(arrays, shape=(len(rows), rows.n_columns))
        if self.scale == "max":
            scale = abs(X).max(axis=0).toarray().ravel().astype(np.float64)
        else:
            variance = mean_variance_axis(X.astype(np.float64), axis=0)[1]
            scale = _STANDARD_DEVIATIONS * np.sqrt(variance)
        return np.where(scale > 0, scale, 1.0)

    def _refuse_unfit(self, rows: Rows) -> None:
        """Refuse values below 0 without `signs`, and what is no count where counts are wanted."""
        if not self.signs and rows.data.min(initial=0) < 0:
            where = _place(rows, int(np.argmax(rows.data < 0)))
            raise DataError(
                f"X: Negative values in data passed to Levels: {where}; give them levels of their "
                "own by signs=True, or shift the column."
            )
        if self.n_levels is not None:
            return
        most = self._width
        p = loops.first_not_level(rows.data, -most if self.signs else 0, most)
        if p >= 0 and abs(rows.data[p]) > most:
            raise DataError(f"X: {_place(rows, p)}, above max_level {most}; give a larger one.")
        if p >= 0:
            raise DataError(
                f"X: {_place(rows, p)}, which is no count; say how many levels real values get "
                "(n_levels=16), or round them."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = not self.signs
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _place(rows: Rows, p: int) -> str:
    """The row, the column and the value of a nonzero."""
    row = int(np.searchsorted(rows.indptr, p, "right")) - 1
    return f"row {row}, column {rows.indices[p]} has {rows.data[p]:.12g}"
