"""Shingles: documents to sparse rows of n-gram weights."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin

from .._core.estimator import DocumentationLink
from ..errors import ParameterError
from ..io.streams import BadRecords
from .rows import rows_of_documents
from .settings import TextSettings


class Shingles(  # type: ignore[call-arg]
    TransformerMixin, DocumentationLink, BaseEstimator, auto_wrap_output_keys=None
):
    """Sparse rows of the n-grams of documents, in columns that a hash decides.

    Like scikit-learn's `HashingVectorizer` it learns nothing, so that rows of different
    batches, processes and machines fit together. A column is the 62-bit hash of an n-gram: two
    n-grams of a corpus practically never share one. `docs/contract.md` defines the hash.

    Parameters
    ----------
    unit : {"words", "characters"}
        A word is a longest run of letters, digits and underscores (`\\w` of regular
        expressions). In n-grams of characters, two white space characters and more count as
        one blank.
    ngrams : int or (int, int)
        Consecutive units that make a column: so many, or from the first to the second number.
    lowercase : bool
        Whether all letters are taken in lower case.
    strip_accents : bool
        Whether accents are dropped: characters are decomposed (NFKD), and combining ones left
        out.
    min_length : int
        Characters that a word must have; shorter ones are left out. Not for characters.
    weights : {"log", "counts", "binary"}
        What an n-gram that occurs t times weighs: 1 + log t, t or 1.
    n_jobs : int, optional
        Threads; None means all cores. Never changes the result.
    dtype : {float32, float64}
        Of the weights.

    Notes
    -----
    The n-grams are those of `CountVectorizer` with `analyzer="word"` and
    `token_pattern=r"(?u)\\b\\w{min_length,}\\b"`, or with `analyzer="char"`, and
    `strip_accents="unicode"` or None, by Unicode 14.0 whatever version Python has.

    There are 2**62 columns, so their names cannot be listed: like `HashingVectorizer` it has no
    `get_feature_names_out`, and no `set_output`. Rows are sparse, with column numbers of 64
    bits, which all estimators of corekernels take; models that make an array of all columns
    cannot.

    Examples
    --------
    >>> import corekernels as ck
    >>> X = ck.text.Shingles(weights="counts").transform(["A rose is a rose", "is it a rose?"])
    >>> X.shape == (2, 2**62), X.indptr.tolist(), sorted(X.data.tolist())
    (True, [0, 2, 5], [1.0, 1.0, 1.0, 1.0, 2.0])
    >>> ck.resemblance(X).round(2)  # "rose" and "is" of "rose", "is" and "it"
    array([[1.  , 0.67],
           [0.67, 1.  ]], dtype=float32)
    """

    def __init__(
        self,
        unit: str = "words",
        ngrams: int | tuple[int, int] = 1,
        *,
        lowercase: bool = True,
        strip_accents: bool = False,
        min_length: int = 2,
        weights: str = "log",
        n_jobs: int | None = None,
        dtype: Any = np.float32,
    ) -> None:
        self.unit = unit
        self.ngrams = ngrams
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.min_length = min_length
        self.weights = weights
        self.n_jobs = n_jobs
        self.dtype = dtype

    @property
    def settings(self) -> TextSettings:
        """What columns and values depend on, checked."""
        return TextSettings.of(
            unit=self.unit, ngrams=self.ngrams, lowercase=self.lowercase,
            strip_accents=self.strip_accents, min_length=self.min_length, weights=self.weights,
        )  # fmt: skip

    def fit(self, X: Any = None, y: Any = None) -> "Shingles":
        """Check the parameters; there is nothing to learn."""
        self.settings, self._value_type()
        return self

    def partial_fit(self, X: Any = None, y: Any = None) -> "Shingles":
        """Check the parameters; there is nothing to learn."""
        return self.fit(X, y)

    def transform(self, X: Any) -> sparse.csr_array:
        """Rows of documents.

        Parameters
        ----------
        X : list, array or series of str, or Arrow array of strings
            Arrow arrays (also large strings, chunked arrays and series that hold them) are
            read where they are, without a copy.

        Returns
        -------
        csr_array of shape (n_documents, 2**62), with columns of each row in ascending order
        """
        settings, dtype = self.settings, self._value_type()
        try:
            return rows_of_documents(X, settings, dtype, self.n_jobs).matrix(owned=True)
        except BadRecords as bad:
            raise bad.error(lambda row: f"X: document {row}") from None

    def _value_type(self) -> Any:
        if self.dtype not in (np.float32, np.float64, "float32", "float64"):
            raise ParameterError(f"dtype: got {self.dtype!r}; give float32 or float64.")
        return np.dtype(self.dtype)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = False
        return tags
