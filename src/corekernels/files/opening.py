"""Readers of what a path means: a file, several, a folder, or all that a pattern matches."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from .._core.arguments import PathLike
from ..errors import DataError
from ..io.provenance import Origin
from ..io.readers import Batch, RowReader, require_rows
from .plan import Plan, is_several, plan_parts
from .readers import AnyReader, SignatureReader, open_file, open_matching_file

Source = AnyReader | Plan


def open_reader(path: PathLike | Iterable[PathLike], **options: Any) -> AnyReader:
    """A reader of rows (`io.open_rows`), documents (`documents.open_documents`) or signatures.

    Parameters
    ----------
    path : path, or several
        A file of rows, of signatures or of documents, or a shard folder; "-" is standard input.
        Several files, a folder of files, or a name with `*`, `?` or `[`, are read one after the
        other.
    format, n_columns, one_based, labels, n_jobs
        As for `io.open_rows`; a signature file needs none of them.
    like : sequence of io.Origin
        Provenance of the signatures or the model that the rows are for. svmlight text does not
        say whether columns count from 0 or 1; unless `one_based` does, it is read as they were.
        Text becomes rows as theirs did, and plain columns of Parquet are matched by their names.
    column_names : sequence of str, optional
        Names of those columns, if `like` does not tell: `feature_names_in_` of a model.
    text, label, id
        Columns of a file of documents, as for `documents.open_documents`: with `text`, it is one.
        Without, `label` is a column of Parquet, as for `io.open_rows`; a signature file needs none.
    shingles : text.Shingles, text.TextSettings or dict, optional
        How text becomes rows; a dict has some of the settings of `Shingles`, by name.
    frequencies : text.InverseDocumentFrequency, optional
        What weighs n-grams by their rarity: `count_frequencies` makes it.
    skip_bad : int, optional
        Bad documents to leave out, as for `documents.open_documents`.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.io.write_rows("rows.svm", [[0, 1.5, 0], [2, 0, 1]], [1, -1])
    >>> reader = ck.files.open_reader("rows.svm")
    >>> [(batch.X.nnz, batch.y.tolist()) for batch in reader]
    [(3, [1, -1])]
    >>> reader.format, reader.n_columns
    ('svmlight', 3)
    >>> ck.files.open_reader(["rows.svm", "rows.svm"]).n_rows
    4
    """
    if not is_several(path, options.get("text") is not None):
        return open_file(path, **options)
    n_jobs = options.pop("n_jobs", None)
    return reader_of(plan_parts(None, path, progress=False, **options), n_jobs)


def open_matching(
    path: PathLike | Iterable[PathLike], n_columns: int, *, ignore_new_columns: bool = False,
    **options: Any,
) -> AnyReader:  # fmt: skip
    """A reader of rows for a model, or for comparison with signatures.

    Parameters
    ----------
    path : path, or several
        As for `open_reader`.
    n_columns : int
        Columns of the rows known before. Narrower rows are taken to lack the last ones.
    ignore_new_columns : bool
        Whether columns beyond `n_columns` are left out, with a note, or an error.
    **options
        `like`, the provenance of the rows known before, and others of `open_reader`.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.io.write_rows("new.svm", [[1.0, 0, 1], [0, 2, 0]])
    >>> reader = ck.files.open_matching("new.svm", 64)  # of a model that knows 64 columns
    >>> reader.n_columns
    64
    """
    if not is_several(path, options.get("text") is not None):
        return open_matching_file(
            path, n_columns, ignore_new_columns=ignore_new_columns, **options
        )  # fmt: skip
    n_jobs = options.pop("n_jobs", None)
    plan = plan_parts(
        None, path, match_columns=n_columns, ignore_new_columns=ignore_new_columns,
        progress=False, **options,
    )  # fmt: skip
    return reader_of(plan, n_jobs)


def open_plan(plan: Plan, n_jobs: int | None = None) -> RowReader:
    """A reader of all rows of the parts, one after the other; of documents, a `DocumentReader`.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.io.write_rows("a.npy", [[1.0, 0], [0, 2]])
    >>> ck.io.write_rows("b.npy", [[3.0, 0]])
    >>> with ck.files.LocalEngine() as engine:
    ...     plan = ck.files.plan_parts(engine, "*.npy")
    >>> [batch.first_row for batch in ck.files.open_plan(plan)]
    [0, 2]
    """
    return require_rows(reader_of(plan, n_jobs))


def reader_of(source: Source, n_jobs: int | None) -> AnyReader:
    """A reader of all rows of a job's source."""
    if not isinstance(source, Plan):
        return source
    if source.recipe is not None:
        return SignatureReader(source.paths)
    if source.is_text:
        return open_file(source.paths, n_jobs=n_jobs, **source.parts[0].reading)
    return PlanReader(source, n_jobs)


def plan_of(source: Source) -> Plan:
    """The parts of a job's source, which an engine needs."""
    if isinstance(source, PlanReader):
        return source.plan
    if not isinstance(source, Plan):
        raise DataError(f"{source.name}: is a reader; give an engine a plan (files.plan_parts).")
    return source


def source_paths(source: Source) -> list[str]:
    """The files of a job's source."""
    if isinstance(source, Plan):
        return source.paths
    if isinstance(source, PlanReader):
        return source.plan.paths
    return source.paths


def origins(reader: AnyReader, first_row: int, n_rows: int) -> list[Origin]:
    """Where some rows of a reader came from, which have been read."""
    if reader.holds == "signatures":
        return reader.provenance
    if isinstance(reader, PlanReader):
        return list(reader.origins(first_row, n_rows))
    return [reader.origin(first_row, n_rows)]


def label_kind(labels: Any) -> str:
    """What labels are: "none", "numbers" or "words"."""
    if labels is None:
        return "none"
    return "words" if labels.dtype.kind in "UO" else "numbers"


def require_one_kind(kinds: dict[str, str]) -> None:
    """Refuse labels of several kinds, given one file that has each."""
    if len(kinds) > 1:
        (one, first), (other, second) = list(kinds.items())[:2]
        raise DataError(
            f"{second}: its labels are {other}, those of {first} are {one}; make them alike."
        )


class PlanReader(RowReader):
    """The rows of all parts of a plan.

    Attributes are those of `io.RowReader`, and `plan`, and `first_rows`: of the parts that have
    been begun.
    """

    def __init__(self, plan: Plan, n_jobs: int | None = None) -> None:
        super().__init__(plan.name)
        self.plan, self._n_jobs = plan, n_jobs
        self._begun = [require_rows(plan.parts[0].open(n_jobs))]
        self.first_rows = [0]
        first = self._begun[0]
        self.format, self.one_based, self.column_names = (
            first.format, first.one_based, first.column_names,
        )  # fmt: skip
        self.n_columns, self.n_rows, self.n_bytes = plan.n_columns, plan.n_rows, plan.n_bytes

    @property
    def notes(self) -> Sequence[str]:
        """What readers of the parts noted, each once."""
        return list(dict.fromkeys(note for reader in self._begun for note in reader.notes))

    @property
    def provenance(self) -> list[Origin]:
        """Of the first part, whose columns are those of all."""
        return self._begun[0].provenance

    def origins(self, first_row: int, n_rows: int) -> Iterator[Origin]:
        """Where some rows came from, which have been read."""
        ends = [*self.first_rows[1:], first_row + n_rows]
        for reader, first, end in zip(self._begun, self.first_rows, ends, strict=True):
            start, stop = max(first_row, first), min(first_row + n_rows, end)
            if start < stop:
                yield reader.origin(start - first, stop - start)

    def batches(self, first_row: int = 0) -> Iterator[Batch]:
        """The batches of each part."""
        first_row, parts, kinds = 0, self.plan.parts, dict[str, str]()
        self._begun, self.first_rows = [], []
        for number, part in enumerate(parts):
            reader = require_rows(part.open(self._n_jobs))
            self._begun.append(reader)
            self.first_rows.append(first_row)
            n_rows, bytes_done = 0, self.plan.n_bytes * number // len(parts)
            for batch in reader:
                kinds.setdefault(label_kind(batch.y), part.path)
                require_one_kind(kinds)
                yield replace(batch, first_row=first_row + n_rows, bytes_done=bytes_done)
                n_rows += len(batch)
            first_row += n_rows
