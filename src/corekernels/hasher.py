"""CoREHasher: rows in, signatures or sparse features out; and the base of estimators that hash."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn import get_config
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ._core.arguments import seed_of
from ._core.estimator import RowsEstimator, keep_parameters, warn_of_dense_rows
from ._hashing.hashing import require_finite
from .errors import ParameterError
from .recipe import MAX_BITS, Recipe
from .signatures import Signatures, sketch


class HashingEstimator(RowsEstimator):
    """An estimator that hashes rows by a recipe made from its parameters."""

    kernel: str
    n_hashes: int
    n_bits: int | None
    scheme: str
    gamma: float | None
    weight_bits: int
    random_state: Any
    n_jobs: int | None
    recipe_: Recipe

    def sketch(self, X: Any) -> Signatures:
        """Signatures of the rows of X, which may be memory-mapped: it is read in blocks.

        Examples
        --------
        >>> import corekernels as ck
        >>> ck.CoREHasher("core2", 16, random_state=0).fit([[1.0, 2.0]]).sketch([[0.0, 3.0]]).codes
        array([[0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 0, 1, 0, 1]], dtype=uint8)
        """
        matrix = self._fitted_matrix(X)
        return sketch(matrix, self.recipe_, self.n_jobs)

    def _hashing_matrix(self, X: Any) -> Any:
        """The matrix behind X, whose columns and recipe are noted as those fitted."""
        matrix = self._fitting_matrix(X)
        warn_of_dense_rows(matrix, self.kernel)
        self.recipe_ = self._recipe(matrix.shape[1], seed_of(self.random_state))
        return matrix

    def _recipe(self, n_columns: int, seed: int) -> Recipe:
        """The recipe that the parameters make for rows of this many columns."""
        return Recipe(
            kernel=self.kernel,
            n_hashes=self.n_hashes,
            n_bits=self.n_bits,
            scheme=self.scheme,
            seed=seed,
            n_columns=n_columns,
            gamma=self.gamma,
            weight_bits=self.weight_bits,
        )


class CoREHasher(ClassNamePrefixFeaturesOutMixin, TransformerMixin, HashingEstimator):
    """Hash rows so that inner products of the result estimate a CoRE kernel.

    Slot j of a row keeps the location L_j of its first nonzero under the j-th random
    permutation, cut to `n_bits` bits, and a weight: the j-th random projection P_j of the
    unit row (core1), sqrt(2) cos(sqrt(gamma) P_j + a random phase) (core_rbf), the value V_j
    found at L_j times the root of the row's number of nonzeros (core2), or 1 (resemblance). Two
    rows' slots count where their locations are equal:

        E[1/k sum_j w_j(u) w_j(v) 1{L_j(u) = L_j(v)}] = K(u, v).

    The expanded rows turn that into a plain inner product, so a linear model on them
    learns what a kernel machine would. Hashing costs O(nonzeros x n_hashes) simple operations
    at most, and memory for the result and for small tables. It takes less for projections and,
    with more than 65,536 columns, for rows of thousands of nonzeros,
    O(nonzeros x n_hashes / 512 + n_hashes). It depends on the parameters, the seed and the number
    of columns alone, never on the data: nothing is learned from rows.

    Parameters
    ----------
    kernel : {"core1", "core2", "core_rbf", "resemblance"}
        Which kernel the hashes estimate.
    n_hashes : int
        Slots per row, k. The estimator's error falls as 1 / sqrt(k); `corekernels.plan`
        says how many an error takes. May exceed the number of columns.
    n_bits : int from 1 to 16, or None
        Bits kept of each location, b. Expanded rows have k 2^b columns. None keeps
        locations whole.
    scheme : {"circulant", "independent"}
        How the permutations are made: by shifting one (fast, and no less accurate), or each
        by itself (the paper's own).
    gamma : float from 0 to 10,000, optional
        Parameter of core_rbf; 2 if None.
    weight_bits : {16, 8, 4}
        Bits of each weight of core1 and core_rbf. With 8 or 4 a
        weight shares an integer with its code, so `n_bits` is at most that: a slot takes
        two bytes or one in place of three. Weights are rounded to 256 or 16 levels. Estimates are
        corrected for that: what bias is left is at most 0.005, for equal rows, and the variance
        grows by 2.4 % at most (4 bits). Models lose nothing that could be measured
        (`benchmarks/slots.py`).
    normalize : bool
        Whether `transform` gives rows of length one (as the paper trains on). If not, the
        inner product of two rows is the kernel estimate, but for what few bits add by chance.
    random_state : int, RandomState instance or None
        An integer is the seed itself.
    n_jobs : int, optional
        Threads; None means all cores. Never changes the result.

    Attributes
    ----------
    n_features_in_ : int
    seed_ : int
    recipe_ : Recipe
        All that the hash depends on.

    Examples
    --------
    >>> import corekernels as ck
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import LinearSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> Z = ck.CoREHasher(n_hashes=512, random_state=0).fit_transform(X)
    >>> round(LinearSVC(random_state=0).fit(Z[:1000], y[:1000]).score(Z[1000:], y[1000:]), 2)
    0.94
    """

    def __init__(
        self, kernel: str = Recipe.kernel, n_hashes: int = Recipe.n_hashes, *,
        n_bits: int | None = Recipe.n_bits, scheme: str = Recipe.scheme,
        gamma: float | None = None,
        weight_bits: int = Recipe.weight_bits, normalize: bool = True, random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        keep_parameters(locals())

    def fit(self, X: Any, y: Any = None) -> "CoREHasher":
        """Note the number of columns and the seed; of the values, only that they are finite."""
        matrix = self._hashing_matrix(X)
        require_finite(matrix, self.n_jobs)
        self.seed_ = self.recipe_.seed
        self._n_features_out = self.recipe_.n_features
        return self

    def transform(self, X: Any) -> sparse.csr_array:
        """Sparse float32 features: n_hashes nonzeros per row, n_hashes 2^n_bits columns."""
        own = getattr(self, "_sklearn_output_config", {}).get("transform")
        container = own or get_config()["transform_output"]
        if container != "default":
            raise ParameterError(
                f"transform: {container.capitalize()} output does not support sparse data, and "
                'hashed rows are sparse: call set_output(transform="default") on this step and '
                "keep data frames for the steps before it."
            )
        return self.sketch(X).to_csr(normalize=self.normalize, n_jobs=self.n_jobs)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the expanded columns, `corehasher0` and so on."""
        check_is_fitted(self)
        if self.n_bits is None:
            raise ParameterError(
                f"n_bits: {self._n_features_out} columns have no names; choose n_bits from 1 to "
                f"{MAX_BITS}."
            )
        return super().get_feature_names_out(input_features)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
