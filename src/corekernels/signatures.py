"""Signatures: what hashed rows have become, and what can be done with them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ._core.arguments import Array, PathLike
from ._core.escaping import html_table
from ._core.team import Team
from ._core.validation import Rows
from ._hashing.estimate import estimate_matrix, estimate_pairs
from ._hashing.hashing import hash_matrix, hash_rows
from ._hashing.slots import codes_of, expand, largest_code, narrow, require_codes, weights_of
from .errors import DataError, ParameterError, RecipeMismatch
from .io.provenance import Origin
from .io.signature_file import pack_labels, read_signatures, write_signatures
from .recipe import MAX_BITS, Recipe


@dataclass(frozen=True, eq=False)
class Signatures:
    """Hashed rows: k codes per row and, for most kernels, k weights.

    Made by `CoREHasher.sketch`. Arrays may be memory-mapped and read-only.

    Attributes
    ----------
    recipe : Recipe
        How the rows were hashed.
    codes : ndarray of shape (n, k), unsigned integers
        The lowest `n_bits` bits of each location.
    weights : ndarray of shape (n, k), float16 or float32, or None
        Projections (core1), cosines of them (core_rbf), values times the root of the row's length
        (core2), or None (resemblance: every weight is 1). Half precision has three digits, which is
        plenty where one slot's share in an estimate varies by its own size; convert before
        computing. With `weight_bits` below 16, codes and weights are computed anew from the
        slots at each reading, weights as float32.
    slots : ndarray of shape (n, k), int8 or int16, or None
        With `weight_bits` below 16: code and rounded weight of each slot in one integer.
    lengths : ndarray of shape (n,), int64
        Number of nonzeros of each row; the codes and weights of an empty row are 0.
    sums : ndarray of shape (n,), float32, or None
        Sum of the unit row's values (core2): makes estimates from few bits unbiased.

    Examples
    --------
    >>> import corekernels as ck
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> S = ck.CoREHasher(kernel="core1", n_hashes=4096, random_state=0).fit(X).sketch(X)
    >>> len(S), S.codes.dtype, S.nbytes // len(S)
    (1797, dtype('uint8'), 12296)
    >>> estimate, error = S.estimate_pairs([0, 0], [1, 10])
    >>> exact = [ck.core1(X[0], X[1]), ck.core1(X[0], X[10])]
    >>> bool((abs(estimate - exact) < 3 * error).all())
    True
    """

    recipe: Recipe
    stored: Mapping[str, Array]  # named as in `Sketch.arrays`

    def __post_init__(self) -> None:
        for name in ("weights", "slots"):
            array, expected = self.stored.get(name), self.recipe.sketch.arrays.get(name)
            if array is not None and expected is not None and array.dtype != expected[0]:
                raise DataError(
                    f"{name}: are {array.dtype}; give them as {expected[0]}, as `sketch` does."
                )
        require_codes(self.recipe, self.stored["codes"] if self.slots is None else self.slots)

    @classmethod
    def trusted(cls, recipe: Recipe, arrays: Mapping[str, Array]) -> "Signatures":
        """Signatures over arrays that this package has made or checked: they are not looked at."""
        S = cls.__new__(cls)
        vars(S).update(recipe=recipe, stored=arrays)
        return S

    @classmethod
    def empty(cls, recipe: Recipe, n_rows: int) -> "Signatures":
        """Room for the signatures of n rows, not filled yet."""
        return cls.trusted(recipe, recipe.sketch.empty_arrays(n_rows))

    @classmethod
    def from_arrays(cls, recipe: Recipe, arrays: Mapping[str, Array]) -> "Signatures":
        """Signatures over arrays named as in `Sketch.arrays`, which are checked."""
        return cls(recipe, {name: arrays[name] for name in recipe.sketch.arrays})

    def with_arrays(self, **arrays: Array) -> "Signatures":
        """The same with other arrays in the place of those named."""
        return Signatures(self.recipe, {**self.stored, **arrays})

    @property
    def codes(self) -> Array:
        """The lowest bits of each location."""
        return codes_of(self.stored["codes"] if self.slots is None else self.slots)

    @property
    def weights(self) -> Array | None:
        """The weight of each slot; None where all are 1."""
        rounding = self.recipe.weight_rounding
        if self.slots is None or rounding is None:
            return self.stored.get("weights")
        return weights_of(self.slots, rounding.unit) * (self.lengths > 0)[:, None]

    @property
    def slots(self) -> Array | None:
        """Code and rounded weight of each slot in one integer."""
        return self.stored.get("slots")

    @property
    def lengths(self) -> Array:
        """Number of nonzeros of each row."""
        return self.stored["lengths"]

    @property
    def sums(self) -> Array | None:
        """Sum of the values of each unit row (core2)."""
        return self.stored.get("sums")

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and hashes per row."""
        return len(self), self.recipe.n_hashes

    def __getitem__(self, rows: Any) -> "Signatures":
        """Some of the rows: a slice (a view), an integer, or an array of either kind."""
        if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis:
            rows = rows[0]  # as scikit-learn's splitting asks for rows of arrays
        if isinstance(rows, int | np.integer):
            rows = [range(len(self))[rows]]
        arrays = {name: array[rows] for name, array in self.arrays().items()}
        if arrays["lengths"].ndim != 1:
            raise IndexError(
                "rows are picked by a slice, an integer, or a list of integers or bools"
            )
        return Signatures.trusted(self.recipe, arrays)

    def __repr__(self) -> str:
        return f"Signatures({len(self)} rows, {self.nbytes:,} bytes, {self.recipe})"

    def _repr_html_(self) -> str:
        facts = {"rows": len(self), "megabytes": self.nbytes / 1e6, **self.recipe.facts()}
        return html_table("Signatures", facts)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays together."""
        return sum(array.nbytes for array in self.arrays().values())

    def narrow(self, n_bits: int, weight_bits: int | None = None) -> "Signatures":
        """The same rows with fewer bits of each location, as if hashed that way.

        `weight_bits` are those of the recipe if None; weights can be rounded once.

        Examples
        --------
        >>> import corekernels as ck
        >>> S = ck.CoREHasher(n_hashes=8, random_state=0).fit([[1.0, 2.0]]).sketch([[1.0, 2.0]])
        >>> S.narrow(2).recipe.n_features
        32
        >>> S.nbytes, S.narrow(4, weight_bits=4).nbytes
        (32, 16)
        """
        return Signatures.trusted(*narrow(self.recipe, self.stored, n_bits, weight_bits))

    def to_csr(self, *, normalize: bool = True, n_jobs: int | None = None) -> sparse.csr_array:
        """Expanded rows for any linear model: n_hashes nonzeros among `recipe.n_features` columns.

        Slot j of a row is one nonzero, at column j 2^b + code. Rows have length one; with
        `normalize=False` they are scaled by 1 / sqrt(k) instead, and the inner product of
        two rows is the kernel estimate, but for what few bits add by chance. `n_jobs` threads; None
        means all cores.

        Returns
        -------
        csr_array, float32; int64 indices where int32 would not do.

        Examples
        --------
        >>> import corekernels as ck
        >>> hasher = ck.CoREHasher("resemblance", 4, n_bits=2, random_state=0).fit([[1.0, 2.0]])
        >>> S = hasher.sketch([[0.0, 3.0], [1.0, 2.0]])
        >>> (S.codes + [0, 4, 8, 12]).tolist() == S.to_csr().indices.reshape(2, 4).tolist()
        True
        """
        n_features = self.recipe.n_features
        if n_features >= 2**63:
            raise ParameterError(
                f"n_bits: {n_features} expanded columns are too many; choose n_bits from 1 to "
                f"{MAX_BITS}."
            )
        return expand(self.recipe, self.arrays(), normalize, n_jobs)

    def estimate(self, T: "Signatures | None" = None, *, n_jobs: int | None = None) -> Array:
        """Unbiased kernel estimates of all pairs of rows, at every number of bits.

        Parameters
        ----------
        T : Signatures, optional
            Other rows, hashed by the same recipe; the same rows if None.
        n_jobs : int, optional
            Threads; None means all cores.

        Returns
        -------
        ndarray of shape (n, m), float32. Estimates may leave the kernel's range.

        Examples
        --------
        >>> import corekernels as ck
        >>> X = [[1.0, 2, 0, 0], [1, 2, 0, 0], [0, 0, 3, 0]]
        >>> hasher = ck.CoREHasher(kernel="resemblance", n_hashes=64, random_state=0)
        >>> hasher.fit(X).sketch(X).estimate()
        array([[1., 1., 0.],
               [1., 1., 0.],
               [0., 0., 1.]], dtype=float32)
        """
        T = self.require_same_recipe(T)
        return estimate_matrix(self.recipe, self.arrays(), T.arrays(), n_jobs)

    def estimate_pairs(
        self, i: Any, j: Any, T: "Signatures | None" = None, *, return_std: bool = True,
        n_jobs: int | None = None,
    ) -> Any:  # fmt: skip
        """Kernel estimates of row i[0] with row j[0] of T, of i[1] with j[1], and so on.

        Parameters
        ----------
        i, j : array-like of int
            Rows of this object and of T; of shapes that broadcast.
        T : Signatures, optional
            Other rows, hashed by the same recipe; the same rows if None.
        return_std : bool
            Whether to give the standard errors as well.
        n_jobs : int, optional
            Threads; None means all cores.

        Returns
        -------
        estimates, and standard errors if asked for : ndarrays. A standard error is that of
        theory for the pair as its slots show it, with a few slots counted in addition, so that it
        is not 0 where no slot happened to collide. An interval of 1.96 standard errors on both
        sides covers the exact value for 92 to 98 % of pairs (`benchmarks/intervals.py`). It covers
        more (98 to 100 %) where at most three slots are expected to collide, for core_rbf at most
        thirteen, since the number of those that do is too coarse for 95 %; 91 % for core2 with one
        bit, for heavy-tailed rows with 64 hashes and for ten columns. For core2 it allows for large
        values that the slots have missed, as a row's norm shows: it is wide where a few columns
        have most of the norm and there are fewer hashes than nonzeros.
        """
        T = self.require_same_recipe(T)
        i, j = np.broadcast_arrays(*np.atleast_1d(i, j))
        if i.size == 0:  # as an empty list is of numbers with a point
            i, j = i.astype(np.intp), j.astype(np.intp)
        flat = i.ravel(), j.ravel()
        estimates, errors = (
            numbers.reshape(i.shape)
            for numbers in estimate_pairs(self.recipe, self.arrays(), T.arrays(), *flat, n_jobs)
        )
        return (estimates, errors) if return_std else estimates

    def save(
        self, path: PathLike, *, labels: Any = None, provenance: Iterable[Origin] | None = None
    ) -> None:
        """Write a safetensors file, whole or not at all.

        Parameters
        ----------
        path : path
        labels : array-like, optional
            Labels of the rows, to travel with them; `files.load_signatures` gives them back.
        provenance : iterable of io.Origin, optional
            Where the rows came from.
        """
        packed, classes = (None, None) if labels is None else pack_labels(labels, len(self))
        write_signatures(path, self.recipe, self.arrays(), packed, classes, provenance)

    @classmethod
    def load(cls, path: PathLike, *, mmap: bool = True) -> "Signatures":
        """Signatures from a file, memory-mapped unless `mmap` is False.

        Examples
        --------
        >>> import corekernels as ck
        >>> S = ck.CoREHasher(n_hashes=8, random_state=0).fit([[1.0, 2.0]]).sketch([[1.0, 2.0]])
        >>> S.save("rows.safetensors")
        >>> again = ck.Signatures.load("rows.safetensors", mmap=False)
        >>> bool((again.codes == S.codes).all()), again.recipe == S.recipe
        (True, True)
        """
        file = read_signatures(path, mmap=mmap)
        return cls.from_arrays(file.recipe, file.arrays)

    def arrays(self) -> dict[str, Array]:
        """The arrays by name, without those that this kernel does not have."""
        return dict(self.stored)

    def largest_code(self) -> int:
        """The largest of all codes, 0 if there are none."""
        return largest_code(self.stored["codes"] if self.slots is None else self.slots)

    def require_same_recipe(self, T: "Signatures | None") -> "Signatures":
        """T, or these signatures if it is None; an error unless it was hashed alike."""
        if T is None:
            return self
        if not isinstance(T, Signatures):
            raise DataError(f"T: got {type(T).__name__}; pass Signatures from `sketch`.")
        if self.recipe != T.recipe:
            raise RecipeMismatch(self.recipe, T.recipe)
        return T


def sketch(matrix: Any, recipe: Recipe, n_jobs: int | None = None, name: str = "X") -> Signatures:
    """Signatures of the rows of a matrix that has passed `as_matrix`."""
    return Signatures.trusted(recipe, hash_matrix(matrix, recipe.sketch, n_jobs, name))


def sketch_rows(rows: Rows, recipe: Recipe, team: Team) -> Signatures:
    """Signatures of clean rows."""
    return Signatures.trusted(recipe, hash_rows(rows, recipe.sketch, team))


def concatenate(signatures: Sequence[Signatures]) -> Signatures:
    """Signatures one below the other; all must have the same recipe.

    Examples
    --------
    >>> import corekernels as ck
    >>> hasher = ck.CoREHasher(n_hashes=8, random_state=0).fit([[1.0, 2.0]])
    >>> len(ck.concatenate([hasher.sketch([[1.0, 2.0]]), hasher.sketch([[0.0, 1.0], [1.0, 0.0]])]))
    3
    """
    signatures = list(signatures)
    if not signatures:
        raise DataError("signatures: got none; pass at least one.")
    first = signatures[0]
    parts = [first.require_same_recipe(other).arrays() for other in signatures]
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return Signatures.trusted(first.recipe, arrays)
