"""InverseDocumentFrequency: rare n-grams weigh more than common ones."""

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._core.arguments import Array, PathLike, require_choice, require_count
from .._core.estimator import RowsEstimator, require_some_rows
from .._core.validation import Rows, as_matrix, clean_rows, read_only
from .._loops.text import grams as loops
from ..errors import DataError, ParameterError
from ..io.containers import load_arrays, save_arrays
from ..io.provenance import checking
from ..io.readers import RowReader, require_rows, with_progress
from .settings import BM25, BY_RARITY, TextSettings

_TOGETHER = 1 << 20  # columns gathered before they are counted
_DIRECTORY_BITS = 16


class DocumentCounts:
    """Columns in ascending order, and the number of documents that each occurs in.

    Exact as long as there are no more than `max_columns` different columns. Beyond, the rarest
    ones are forgotten whenever there are too many: `error` is how many documents of a column
    may have gone uncounted at most (lossy counting).
    """

    def __init__(
        self, max_columns: int, together: int = _TOGETHER, *, columns: Any = (), counts: Any = (),
        n_documents: int = 0, error: int = 0,
    ) -> None:  # fmt: skip
        self.max_columns, self._together = max_columns, together
        self.n_documents, self.error = n_documents, error
        self._columns, self._counts = np.asarray(columns, np.int64), np.asarray(counts, np.int64)
        self._waiting: list[Array] = []
        self._directory: Array | None = None  # where columns begin, by their upper bits

    def add(self, columns: Array, n_documents: int) -> None:
        """Count documents by their columns, each of which occurs once per document."""
        self.n_documents += n_documents
        self._waiting.append(columns)
        self._directory = None
        if sum(map(len, self._waiting)) > max(self._together, len(self._columns) // 2):
            self.table()

    def table(self) -> tuple[Array, Array]:
        """Columns, ascending, and their counts."""
        if self._waiting:
            fresh, counts = np.unique(np.concatenate(self._waiting), return_counts=True)
            self._waiting = []
            columns = np.concatenate([self._columns, fresh.astype(np.int64)])
            counts = np.concatenate([self._counts, counts.astype(np.int64)])
            order = np.argsort(columns, kind="stable")
            columns, counts = columns[order], counts[order]
            first = np.ones(len(columns), bool)
            first[1:] = columns[1:] != columns[:-1]
            starts = np.flatnonzero(first)
            self._columns = columns[starts]
            self._counts = np.add.reduceat(counts, starts) if len(starts) else counts
            self._forget()
        return self._columns, self._counts

    def of_columns(self, columns: Array, n_columns: int) -> Array:
        """The number of documents that each of these columns, of so many in all, occurs in."""
        columns_here, counts = self.table()
        sorted_columns = read_only(columns_here, np.int64)
        shift = max(0, (n_columns - 1).bit_length() - _DIRECTORY_BITS)
        if self._directory is None:
            directory = np.zeros(((n_columns - 1) >> shift) + 2, np.int64)
            loops.fill_directory(sorted_columns, shift, directory)
            self._directory = read_only(directory)
        places = np.empty(len(columns), np.int64)
        loops.look_up(read_only(columns, np.int64), sorted_columns, shift, self._directory, places)
        return np.append(counts, 0)[places]  # place -1 is the last: 0

    def _forget(self) -> None:
        """Drop the rarest columns if there are too many: at least a quarter of those allowed."""
        if len(self._columns) <= self.max_columns:
            return
        most = self.max_columns - self.max_columns // 4
        least_kept = int(np.partition(self._counts, -most - 1)[-most - 1]) + 1 if most else 1
        kept = self._counts >= least_kept
        self.error += least_kept - 1
        self._columns, self._counts = self._columns[kept], self._counts[kept]


KIND = "frequencies"
_FILE_VERSION = 1


class InverseDocumentFrequency(
    TransformerMixin, RowsEstimator, auto_wrap_output_keys=None  # type: ignore[call-arg]
):  # fmt: skip
    """Values weighed by the rarity of their columns: a column is in df of n documents.

    With weights "tfidf" they are multiplied by log((1 + n) / (1 + df)) + 1: the weights of
    scikit-learn's `TfidfTransformer(norm=None)`. With "bm25" values t are counts, and become
    sqrt(log(1 + (n - df + 0.5) / (df + 0.5))) * 2.2 t / (t + 0.3 + 0.9 L), L being the length
    of the document over the mean length; those of queries (`transform_queries`) become the same
    root times t. Inner products of both are scores of Okapi BM25 with k1 = 1.2, b = 0.75. The
    logarithm is shared between them so that queries are like documents, to which an index is tuned.

    Rows may have 2**62 columns, of which no array can hold all: document frequencies are a
    sorted list of the columns that occur. `partial_fit` counts further documents, so that a
    corpus may be larger than memory; `save` and `load` keep what was counted.

    Parameters
    ----------
    max_columns : int
        Columns to keep count of, at 16 bytes each. Where more occur, the rarest are forgotten
        and count as new when they come again: `error_` says by how much counts may be too low.
    weights : {"tfidf", "bm25"}

    Attributes
    ----------
    n_documents_ : int
    columns_, document_frequencies_ : ndarray
        Columns in ascending order, and in how many documents each occurs.
    error_ : int
        Documents of a column that were not counted, at most; 0 where all columns fitted.
    n_features_in_ : int
    settings_ : TextSettings or None
        How text became the rows that were counted, if it did (`files.count_frequencies`).

    Examples
    --------
    >>> import corekernels as ck
    >>> documents = ["the rose", "the thorn", "the end"]
    >>> X = ck.text.Shingles().transform(documents)
    >>> X = ck.text.InverseDocumentFrequency().fit_transform(X)
    >>> X[[0]].data.round(2)  # "rose" is in one document, "the" in all
    array([1.69, 1.  ], dtype=float32)
    """

    settings_: TextSettings | None = None

    def __init__(self, max_columns: int = 1 << 22, *, weights: str = "tfidf") -> None:
        self.max_columns = max_columns
        self.weights = weights

    def fit(self, X: Any, y: Any = None) -> "InverseDocumentFrequency":
        """Count the documents that each column occurs in."""
        if hasattr(self, "_counts"):
            del self._counts
        return self.partial_fit(X)

    def partial_fit(self, X: Any, y: Any = None) -> "InverseDocumentFrequency":
        """Count further documents."""
        limit = require_count("max_columns", self.max_columns)
        require_choice("weights", self.weights, tuple(BY_RARITY))
        is_first = not hasattr(self, "_counts")
        matrix = as_matrix(X)
        validate_data(self, X, reset=is_first, skip_check_array=True)
        require_some_rows(matrix.shape[0])
        rows = clean_rows(matrix)
        if is_first:
            self._counts, self._total = DocumentCounts(limit), 0.0
        rows = rows.compact()
        self._counts.add(rows.indices, len(rows))
        self._total += float(rows.data.sum(dtype=np.float64))
        return self

    def require_settings(self, settings: TextSettings) -> None:
        """Refuse to weigh rows of other n-grams than were counted, or with other weights."""
        if (self.weights == BM25) != (settings.weights == BM25):
            raise ParameterError(
                f"frequencies: are for weights {self.weights}, rows have {settings.weights}; BM25 "
                "is for an index of documents (files.index_rows)."
            )
        if self.settings_ is not None:
            counted = replace(self.settings_, weights=settings.weights, frequencies=None)
            differences = replace(settings, frequencies=None).differences(counted)
            if differences:
                raise ParameterError(
                    f"frequencies: documents were read with {'; '.join(differences)}, with which "
                    "their n-grams were counted; read them in the same way, or count them again."
                )

    @property
    def n_documents_(self) -> int:
        """Documents counted."""
        check_is_fitted(self)
        return self._counts.n_documents

    @property
    def columns_(self) -> Array:
        """Columns in ascending order."""
        check_is_fitted(self)
        return self._counts.table()[0]

    @property
    def document_frequencies_(self) -> Array:
        """In how many documents each of the columns occurs."""
        check_is_fitted(self)
        return self._counts.table()[1]

    @property
    def error_(self) -> int:
        """Documents of a column that were not counted, at most."""
        check_is_fitted(self)
        self._counts.table()
        return self._counts.error

    def transform(self, X: Any) -> sparse.csr_array:
        """The rows with their values multiplied; columns not known count as in 0 documents."""
        check_is_fitted(self)
        rows = self.weighted(clean_rows(self._fitted_matrix(X)))
        return replace(rows, indices=rows.indices.copy()).matrix(owned=True)

    def transform_queries(self, X: Any) -> sparse.csr_array:
        """The rows of queries with their values weighed: as by `transform`, but for BM25.

        Examples
        --------
        >>> import corekernels as ck
        >>> X = [[1.0, 0, 1], [0, 2, 1], [0, 0, 1]]
        >>> model = ck.text.InverseDocumentFrequency(weights="bm25").fit(X)
        >>> scores = model.transform_queries([[0.0, 1, 0]]) @ model.transform(X).T
        >>> scores.toarray().round(2)
        array([[0.  , 1.18, 0.  ]])
        """
        check_is_fitted(self)
        rows = self.weighted_queries(clean_rows(self._fitted_matrix(X)))
        return replace(rows, indices=rows.indices.copy()).matrix(owned=True)

    def weighted(self, rows: Rows) -> Rows:
        """Clean rows of documents with their values weighed."""
        if self.weights != BM25:
            return self.weighted_queries(rows)
        rows = rows.compact()
        lengths = np.add.reduceat(np.append(rows.data, 0), rows.indptr[:-1], dtype=np.float64)
        lengths *= self._counts.n_documents / max(self._total, 1)  # those of empty rows: not used
        saturation = rows.data + 0.3 + 0.9 * np.repeat(lengths, np.diff(rows.indptr))
        data = (2.2 * rows.data / saturation).astype(rows.data.dtype)
        return self.weighted_queries(replace(rows, data=read_only(data)))

    def weighted_queries(self, rows: Rows) -> Rows:
        """Clean rows of queries with their values weighed: as documents, but for BM25."""
        rows, n = rows.compact(), self._counts.n_documents
        frequencies = self._counts.of_columns(rows.indices, rows.n_columns)
        if self.weights == BM25:
            weights = np.sqrt(np.log1p((n - frequencies + 0.5) / (frequencies + 0.5)))
        else:
            weights = np.log((1 + n) / (1 + frequencies)) + 1
        return replace(rows, data=read_only(rows.data * weights.astype(rows.data.dtype)))

    def parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """What was counted, as a file holds it: arrays, and what JSON can say."""
        check_is_fitted(self)
        columns, counts = self._counts.table()
        about: dict[str, Any] = {
            "max_columns": self.max_columns,
            "weights": self.weights,
            "n_documents": self._counts.n_documents,
            "total": self._total,
            "error": self._counts.error,
            "n_columns": int(self.n_features_in_),
        }
        if self.settings_ is not None:
            about["text"] = self.settings_.asdict()
        return {"columns": columns, "counts": counts}, about

    @classmethod
    def of_parts(
        cls, arrays: dict[str, Array], about: dict[str, Any]
    ) -> "InverseDocumentFrequency":
        """The table that has these parts, which are checked."""
        model = cls(require_count("max_columns", about["max_columns"]), weights=about["weights"])
        require_choice("weights", model.weights, tuple(BY_RARITY))
        columns, counts = arrays["columns"], arrays["counts"]
        model.n_features_in_ = require_count("n_columns", about["n_columns"])
        model._total = float(about["total"])
        _require_sound(columns, counts, model.n_features_in_)
        model._counts = DocumentCounts(
            model.max_columns, columns=columns, counts=counts,
            n_documents=int(about["n_documents"]), error=int(about["error"]),
        )  # fmt: skip
        if about.get("text") is not None:
            model.settings_ = TextSettings.of(**about["text"])
        return model

    def save(self, path: PathLike) -> None:
        """Write what was counted to a safetensors file, whole or not at all."""
        save_arrays(path, KIND, _FILE_VERSION, *self.parts())

    @classmethod
    def load(cls, path: PathLike) -> "InverseDocumentFrequency":
        """What `save` wrote.

        Examples
        --------
        >>> import corekernels as ck
        >>> table = ck.text.InverseDocumentFrequency().fit([[1.0, 0], [2, 3]])
        >>> table.save("corpus.idf")
        >>> again = ck.text.InverseDocumentFrequency.load("corpus.idf")
        >>> again.n_documents_, again.document_frequencies_.tolist()
        (2, [2, 1])
        """
        arrays, about = load_arrays(path, KIND, _FILE_VERSION, mmap=False)
        with checking(path, "count the documents again"):
            return cls.of_parts(arrays, about)

    def digest(self) -> str:
        """A short name for exactly these counts, which files made with them remember."""
        columns, counts = self._counts.table()
        digest = hashlib.sha256(f"{self.n_documents_} {self.n_features_in_}".encode())
        digest.update(np.ascontiguousarray(columns, "<i8").data)
        digest.update(np.ascontiguousarray(counts, "<i8").data)
        return digest.hexdigest()[:16]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_counts")


def count_frequencies(
    reader: RowReader, target: PathLike | None = None, *, max_columns: int = 1 << 22,
    progress: bool | None = None,
) -> InverseDocumentFrequency:  # fmt: skip
    """In how many rows each column occurs, counted in one reading.

    Parameters
    ----------
    reader : RowReader
        From `open_reader`; of documents as a rule, which may be larger than memory.
    target : path, optional
        File to write the counts to, which `text.InverseDocumentFrequency.load` reads.
    max_columns : int
        Columns to keep count of, as for `text.InverseDocumentFrequency`.
    progress : bool, optional
        Whether to show a progress bar; None means where there is a terminal.

    Examples
    --------
    >>> import corekernels as ck
    >>> with open("a.txt", "w") as file:
    ...     print("a rose is a rose", "no rose without a thorn", sep="\\n", file=file)
    >>> counts = ck.files.count_frequencies(ck.files.open_reader("a.txt", text="text"))
    >>> counts.n_documents_, sorted(counts.document_frequencies_.tolist())
    (2, [1, 1, 1, 1, 2])
    """
    counts = InverseDocumentFrequency(max_columns)
    for batch in with_progress(require_rows(reader), "counting", progress):
        counts.partial_fit(batch.X)
    if not counts.__sklearn_is_fitted__():
        raise DataError(f"{reader.name}: holds no rows.")
    counts.settings_ = reader.settings
    if target is not None:
        counts.save(target)
    return counts


def _require_sound(columns: Array, counts: Array, n_columns: int) -> None:
    """Refuse lists that loops could not look columns up in."""
    if columns.dtype != np.int64 or counts.dtype != np.int64 or columns.shape != counts.shape:
        raise DataError("columns and counts do not fit together")
    if len(columns) and not (
        columns[0] >= 0 and columns[-1] < n_columns and bool((np.diff(columns) > 0).all())
    ):
        raise DataError("columns are not in order")
