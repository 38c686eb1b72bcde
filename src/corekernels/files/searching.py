"""Indexes of files, and the neighbours of all rows of a file."""

import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._core.arguments import Array, PathLike, require_choice, require_count
from .._core.escaping import fields
from .._core.progress import Progress
from ..documents import open_documents
from ..errors import DataError, ParameterError
from ..io.atomic import Target, open_target, require_target
from ..io.job_folder import file_stamps
from ..io.provenance import require_same_names, text_columns_of, text_of
from ..io.readers import Batch, RowReader, read_all, require_rows, with_progress
from ..io.streams import BadRecords
from ..kernel_table import INNER_PRODUCT, exact_kernel
from ..neighbors import CoRENeighbors, RecallCheck
from ..recipe import DEFAULT_KERNEL
from ..text.frequencies import InverseDocumentFrequency
from ..text.rows import rows_of_documents
from ..text.settings import BM25, BY_RARITY, TextSettings
from .engines import Engine
from .lines import Counts, Lines, LinesJob, require_queries, write_lines
from .readers import AnyReader
from .sources import Source, reader_of

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class IndexReport:
    """What was indexed, and how it will be searched."""

    target: str
    rows: int
    columns: int
    kernel: str
    method: str
    reason: str
    estimated_recall: float
    n_bytes: int
    seconds: float


@dataclass(frozen=True)
class SearchReport:
    """What was looked up, and how fast; `seconds` are those of the search alone."""

    target: str
    queries: int
    n_neighbors: int | None
    radius: float | None
    found: int  # neighbours of all queries together
    seconds: float
    check: RecallCheck | None

    @property
    def queries_per_second(self) -> float:
        """Queries answered in a second."""
        return self.queries / max(self.seconds, 1e-9)


def index_rows(
    reader: RowReader, target: PathLike, *, weights: str | None = None,
    progress: bool | None = None, **options: Any,
) -> IndexReport:  # fmt: skip
    """Index all rows of a reader, under their numbers, in a file for `CoRENeighbors.load`.

    Rows that have names are called by them in results of `search`.

    Rows and index are in memory together.

    Parameters
    ----------
    reader : RowReader
        From `open_reader`.
    target : path
        The index file to create or replace.
    weights : {"tfidf", "bm25"}, optional
        Weigh the n-grams of documents by their rarity in these, as `text.InverseDocumentFrequency`
        does; the index keeps the counts, and `search` weighs queries by them. Rows are to be
        read with weights "log" for "tfidf", "counts" for "bm25", which is for inner products.
    progress : bool, optional
        As for `hash_to_file`.
    **options
        Parameters of `CoRENeighbors`.

    Returns
    -------
    report : has `target`, `rows`, `columns`, `kernel`, `method`, `reason`, `estimated_recall`, \
`n_bytes`, `seconds`

    Examples
    --------
    >>> import corekernels as ck
    >>> rows, index = "rows.npy", "rows.index"
    >>> ck.io.write_rows(rows, [[1.0, 2, 0], [0, 0, 3], [1, 2.1, 0]])
    >>> report = ck.files.index_rows(ck.files.open_reader(rows), index, n_neighbors=1)
    >>> ck.CoRENeighbors.load(index).kneighbors([[0.0, 0, 1]])[1].tolist()
    [[1]]
    >>> report.rows, report.method
    (3, 'exact')
    """
    require_target(target, reader.name)
    start = time.perf_counter()
    if weights is not None:
        _require_weights(weights, reader, options.get("kernel", DEFAULT_KERNEL))
    whole = read_all(require_rows(reader), progress)
    X, frequencies = whole.X, getattr(reader, "frequencies", None)
    sources = reader.origins(0, X.shape[0])
    if weights is not None:
        frequencies = InverseDocumentFrequency(max(1, X.nnz), weights=weights).fit(X)
        X, how = frequencies.transform(X), {"weights": weights, "frequencies": frequencies.digest()}
        sources = [replace(source, text={**(source.text or {}), **how}) for source in sources]
    index = CoRENeighbors(**options).fit(X)
    index.names_, index.frequencies_ = whole.names, frequencies
    if reader.settings is not None and not reader.is_stream:
        paths = [os.path.abspath(path) for path in reader.paths]
        about = {"paths": paths, "stamps": file_stamps(paths), "format": reader.format}
        index.documents_ = about | {"skip_bad": getattr(reader, "skip_bad", 0)}
    index.save(target, provenance=sources)
    return IndexReport(
        os.fspath(target), X.shape[0], X.shape[1], index.kernel, index.method_, index.reason_,
        index.estimated_recall_, Path(target).stat().st_size, time.perf_counter() - start,
    )  # fmt: skip


def _require_weights(weights: str, reader: RowReader, kernel: Any) -> None:
    """Refuse weights by rarity where they make no sense."""
    require_choice("weights", weights, tuple(BY_RARITY))
    if reader.settings is None:
        raise ParameterError(f"weights: {weights} is for documents; {reader.name} holds rows.")
    if reader.settings.weights != BY_RARITY[weights]:
        raise ParameterError(
            f"weights: {weights} is made of {BY_RARITY[weights]}, {reader.name} is read with "
            f"{reader.settings.weights}; open it with shingles={{'weights': "
            f"{BY_RARITY[weights]!r}}}."
        )
    if reader.settings.frequencies is not None:
        raise ParameterError(
            f"weights: {weights} is made of the frequencies in these documents; give no others."
        )
    if weights == BM25 and exact_kernel(kernel) is not INNER_PRODUCT:
        raise ParameterError(
            "weights: scores of bm25 are inner products of documents and queries that are weighed "
            "otherwise; give kernel='inner_product', or weights 'tfidf'."
        )


class SearchJob(NamedTuple):
    """What is searched, and how; the first queries gather in `checked`."""

    searched: CoRENeighbors | str  # an index, or its file
    n_neighbors: int | None
    radius: float | None
    n_checked: int
    checked: list[Any]

    def opened(self) -> CoRENeighbors:
        """The index."""
        return _loaded(self.searched) if isinstance(self.searched, str) else self.searched


@lru_cache(1)
def _loaded(path: str) -> CoRENeighbors:
    return CoRENeighbors.load(path).set_params(n_jobs=1)


def search(
    index: CoRENeighbors | PathLike, source: Source, target: Target,
    n_neighbors: int | None = None, *, radius: float | None = None, n_checked: int = 0,
    engine: Engine | None = None, resume: bool = False, progress: bool | None = None,
) -> SearchReport:  # fmt: skip
    """Write the nearest rows of each row of a source, in batches.

    A target that ends in `.npz` gets the arrays `distances` and `indices`, which are in memory
    together, and with a radius `indptr`: those of query q are from indptr[q] to indptr[q + 1].
    Any other gets a line `query`, `id`, `similarity` for each neighbour, nearest first,
    with tabs between and a line of names at the top. Queries and rows that have names are called
    by them, escaped as by `predict`.

    Parameters
    ----------
    index : CoRENeighbors or path
        An engine needs the path of its file, which every worker maps into its memory.
    source : reader or plan
        Queries, from `open_reader` with the columns of the index (`match_columns`); for an engine
        from `plan_parts`.
    target : path or open binary file
        A file is created or replaced, whole or not at all.
    n_neighbors : int, optional
        Rows for each query; the index's own number if None.
    radius : float, optional
        All rows within this distance 1 - K instead, by exact search.
    n_checked : int
        Look up this many of the first queries by exact search as well, and report the recall.
    engine, resume, progress
        As for `predict`.

    Returns
    -------
    report : has `target`, `queries`, `n_neighbors`, `radius`, `found` (neighbours of all queries
        together), `seconds` of the search alone, `queries_per_second`, and a `check` if asked for

    Examples
    --------
    >>> import corekernels as ck, io
    >>> index = ck.CoRENeighbors(n_neighbors=1).fit([[1.0, 2, 0], [0, 0, 3]])
    >>> path = "queries.npy"
    >>> ck.io.write_rows(path, [[0.0, 0, 1]])
    >>> found = io.BytesIO()
    >>> report = ck.files.search(index, ck.files.open_reader(path), found)
    >>> found.getvalue().decode().split()
    ['query', 'id', 'similarity', '0', '1', '1.000000']
    """
    if radius is not None and (n_neighbors is not None or n_checked):
        raise ParameterError(
            "radius: has no n_neighbors, and needs no check, being exact; leave them out."
        )
    if n_checked < 0:
        raise ParameterError(f"n_checked: got {n_checked!r}; give 0 or more.")
    if n_neighbors is not None:
        require_count("n_neighbors", n_neighbors)
    name = os.fspath(target) if isinstance(target, str | os.PathLike) else "-"
    about: dict[str, Any] = {"job": "search", "n_neighbors": n_neighbors, "radius": radius}
    if engine is not None:
        if isinstance(index, CoRENeighbors):
            raise ParameterError("index: is in memory; save it, and give an engine its file.")
        if name.endswith(".npz"):
            raise ParameterError("target: an engine writes lines, not arrays; name such a file.")
        if n_checked:
            raise ParameterError("n_checked: got one with an engine; check in this process.")
        about["index"] = file_stamps([index])
        index = os.path.abspath(index)
    searched = index if isinstance(index, CoRENeighbors) else os.fspath(index)
    job = SearchJob(searched, n_neighbors, radius, n_checked, [])
    if name.endswith(".npz"):
        counts = _write_arrays(job, source, target, progress)
    else:
        counts = write_lines(
            LinesJob(found_lines, job, about, is_numbered=True), source, target,
            b"query\tid\tsimilarity\n", engine=engine, resume=resume, progress=progress,
        )  # fmt: skip
    check = None
    if n_checked:
        check = job.opened().check_recall(sparse.vstack(job.checked, format="csr"), n_neighbors)
    per_query = counts.lines // counts.rows if radius is None else None
    return SearchReport(name, counts.rows, per_query, radius, *counts[1:], check)


def _answers(
    job: SearchJob, reader: AnyReader, progress: Progress
) -> Iterator[tuple[Batch, "_Found", Counts]]:
    """Batches of queries, and what is found for each."""
    index = job.opened()
    names = getattr(index, "feature_names_in_", None)
    require_same_names(reader.name, reader.provenance, index.provenance_, names)
    n_queries = 0
    for batch in with_progress(require_rows(reader), "searching", progress):
        if not n_queries:
            _found(index, job, batch.X[:1])  # the first search loads the loops
        if n_queries < job.n_checked:
            job.checked.append(batch.X[: job.n_checked - n_queries])
        n_queries += len(batch)
        start = time.perf_counter()
        neighbours = _found(index, job, batch.X)
        seconds = time.perf_counter() - start
        yield batch, neighbours, Counts(len(batch), len(neighbours.ids), seconds)


def found_lines(job: SearchJob, reader: AnyReader, progress: Progress) -> Lines:
    """The lines of a reader's queries."""
    index = job.opened()
    for batch, neighbours, counts in _answers(job, reader, progress):
        queries = batch.names or range(batch.first_row, batch.first_row + len(batch))
        yield neighbours.lines(fields(queries), fields(named(index, neighbours.ids))), counts


def _write_arrays(job: SearchJob, source: Source, target: Target, progress: bool | None) -> Counts:
    """Write what is found for all queries as arrays."""
    total, parts = Counts(), []
    with open_target(target, *source.paths) as file:
        for _, neighbours, counts in _answers(job, reader_of(source), progress):
            parts.append(neighbours)
            total = total.plus(counts)
        require_queries(total, source)
        np.savez(file, **_arrays(parts, job.radius is not None))
    return total


class Match(NamedTuple):
    """A document that was found; `snippet` is None where its text is not to be had."""

    id: Any
    similarity: float
    snippet: str | None


def search_texts(
    index: CoRENeighbors, texts: Sequence[str], n_neighbors: int | None = None
) -> list[list[Match]]:
    """The nearest documents of each text, in an index of documents, nearest first.

    Documents without a word, or n-gram, of the text are left out. Snippets are passages around
    its words, read where the documents lay when they were indexed, as long as they are unchanged.

    Returns
    -------
    found : list of lists of `id`, `similarity`, `snippet`

    Examples
    --------
    >>> import corekernels as ck
    >>> corpus, target = "a.txt", "a.index"
    >>> with open(corpus, "w") as file:
    ...     _ = file.write("a rose is a rose\\nno rose without a thorn\\n")
    >>> reader = ck.files.open_reader(corpus, text="text")
    >>> _ = ck.files.index_rows(reader, target, kernel="resemblance")
    >>> index = ck.CoRENeighbors.load(target)
    >>> [tuple(found) for found in ck.files.search_texts(index, ["without thorn"], 1)[0]]
    [(1, 0.5, 'no rose without a thorn')]
    """
    known = text_of(index.provenance_)
    if known is None:
        raise DataError("index: was not made from text; give rows to look up.")
    settings = TextSettings.of(**known)
    try:
        rows = rows_of_documents(list(texts), settings, name="query")
    except BadRecords as bad:
        raise bad.error(lambda row: f"query {row + 1}") from None
    for text, n_grams in zip(texts, np.diff(rows.indptr), strict=True):
        if not n_grams:
            what = settings.unit.rstrip("s") + " to look up"
            if settings.ngrams[0] > 1:
                what = f"{settings.ngrams[0]} {settings.unit} in a row, which the index is made of"
            of_length = f" (of {settings.min_length} characters or more)" if text.strip() else ""
            raise ParameterError(f"query: {text!r} has no {what}{of_length}.")
    if index.frequencies_ is not None:
        rows = index.frequencies_.weighted_queries(rows)
    distances, ids = index.kneighbors(rows.matrix(), n_neighbors)
    similar = distances < 1
    documents = _texts_of(index, ids[similar])
    return [
        [
            Match(name, value, _snippet(documents[i], text) if i in documents else None)
            for name, value, i in zip(
                named(index, row[some]), (1 - far[some]).tolist(), row[some].tolist(), strict=True
            )
        ]
        for text, row, far, some in zip(texts, ids, distances, similar, strict=True)
    ]


def _texts_of(index: CoRENeighbors, ids: Array) -> dict[Any, str]:
    """The texts of indexed documents by their ids, as far as their files are as they were."""
    about, columns = index.documents_, text_columns_of(index.provenance_)
    if about is None or columns is None or ids.dtype == object:
        return {}
    if file_stamps(about["paths"]) != about["stamps"]:
        return {}
    n_rows = sum(origin.rows for origin in index.provenance_)
    reader = open_documents(
        about["paths"], columns, format=about["format"], skip_bad=about["skip_bad"]
    )
    return reader.texts(np.unique(ids[ids < n_rows]))


def named(index: CoRENeighbors, ids: Array) -> list[Any]:
    """The names of rows of an index, or their ids where they have none."""
    names = index.names_
    if names is None:
        return list(ids.tolist())
    return [names[i] if i < len(names) else i for i in ids.tolist()]


class _Found(NamedTuple):
    """Neighbours of queries, one after the other, and how many each query has."""

    lengths: Array
    distances: Array
    ids: Array

    def lines(self, queries: Sequence[Any], names: list[Any]) -> bytes:
        """A line for each query and neighbour, called by these names."""
        asked = (
            query for query, n in zip(queries, self.lengths.tolist(), strict=True) for _ in range(n)
        )
        rows = zip(asked, names, (1 - self.distances).tolist(), strict=True)
        return "".join(f"{query}\t{i}\t{value:.6f}\n" for query, i, value in rows).encode()


def _found(index: CoRENeighbors, job: SearchJob, X: Any) -> _Found:
    """The nearest rows of queries, or those within the radius."""
    if job.radius is None:
        distances, ids = index.kneighbors(X, job.n_neighbors)
        return _Found(np.full(len(ids), ids.shape[1]), distances.ravel(), ids.ravel())
    distances, ids = index.radius_neighbors(X, job.radius)
    lengths = np.array([len(row) for row in ids])
    return _Found(lengths, np.concatenate(distances), np.concatenate(ids))


def _arrays(parts: Sequence[_Found], ragged: bool) -> dict[str, Any]:
    """The arrays of an .npz file: one row per query, or with pointers to the rows."""
    lengths, distances, ids = map(np.concatenate, zip(*parts, strict=True))
    ids = ids.astype(str) if ids.dtype == object else ids  # objects would be pickled
    if ragged:
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        return {"distances": distances, "indices": ids, "indptr": indptr}
    shape = (len(lengths), -1)
    return {"distances": distances.reshape(shape), "indices": ids.reshape(shape)}


def _snippet(text: str, query: str, width: int = 100) -> str:
    """The passage with the most different words of a query, on one line; the beginning if none.

    >>> _snippet("The rose. " * 9 + "A thorn of the rose.", "thorn rose", 30)
    '… rose. The rose. A thorn of …'
    """
    text = " ".join(text.split())
    query_words = {word.lower() for word in _WORD.findall(query)}
    words = [(match.start(), match.end(), match[0].lower()) for match in _WORD.finditer(text)]
    hits = [word for word in words if word[2] in query_words]
    best, n_best, first = (0, 0), 0, 0
    for last, (_, end, _) in enumerate(hits):
        while end - hits[first][0] > width and first < last:
            first += 1
        n_words = len({word for _, _, word in hits[first : last + 1]})
        if n_words > n_best:
            best, n_best = (hits[first][0], end), n_words
    margin = max(0, width - (best[1] - best[0])) // 2
    begin = max(0, min(best[0] - margin, len(text) - width))
    end = min(len(text), max(begin + width, best[1]))
    begin = min((start for start, _, _ in words if start >= begin), default=0) if begin else 0
    end = (
        max((stop for _, stop, _ in words if stop <= end), default=end) if end < len(text) else end
    )
    return ("… " if begin else "") + text[begin:end] + (" …" if end < len(text) else "")
