"""Readers of files: raw rows and signatures alike."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from .. import io
from .._core.arguments import Array, PathLike
from .._core.progress import Progress
from .._core.team import Team
from .._core.validation import Rows
from ..documents.opening import document_format, open_documents
from ..errors import DataError, FileError, ParameterError, RecipeMismatch
from ..io.provenance import (
    Identity,
    Origin,
    column_base,
    names_of,
    require_same_columns,
    text_columns_of,
    text_of,
)
from ..io.readers import Batch, BlockStart, Reader, RowReader, Selected, with_progress
from ..io.signature_file import SignatureFile, read_signatures
from ..io.streams import MAX_RECORD_BYTES, is_stream
from ..recipe import MAX_COLUMNS, Recipe
from ..signatures import Signatures, concatenate, sketch_rows
from ..text.settings import settings_like
from .shards import is_shard_folder, part_files

if TYPE_CHECKING:
    from ..text.frequencies import InverseDocumentFrequency

_BATCH_BYTES = 16 << 20


@dataclass(frozen=True)
class HashedBatch:
    """Some consecutive rows: their signatures, and labels and names if there are any."""

    signatures: Signatures
    y: Array | None
    first_row: int
    bytes_done: int
    names: list[str] | None = None

    def __len__(self) -> int:
        return len(self.signatures)


class SignatureReader(Reader):
    """The signatures of a file or shard folder, or of several, in batches that stay on the disk.

    Attributes are those of `io.Reader`, and `recipe`.
    """

    format = "signatures"
    holds: Literal["signatures"] = "signatures"
    has_names = False
    n_rows: int
    n_bytes: int

    def __init__(self, path: PathLike | Sequence[PathLike]) -> None:
        paths = [path] if isinstance(path, str | os.PathLike) else list(path)
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        self.name = os.fspath(paths[0]) + more
        self.paths = [str(part) for path in paths for part in part_files(path)]
        self._provenance: list[Origin] = []
        self._identities: list[Identity] = []
        self.n_rows = 0
        for part in self.paths:  # one at a time: there may be more than a process may map
            found = read_signatures(part)
            self.recipe = getattr(self, "recipe", found.recipe)
            if found.recipe != self.recipe:
                raise RecipeMismatch(self.recipe, found.recipe)
            self.n_rows += len(found)
            self._provenance += found.provenance
            self._identities.append(found.identity)
        self.n_columns = self.recipe.n_columns
        self.n_bytes = sum(identity.n_bytes for identity in self._identities)

    @property
    def provenance(self) -> list[Origin]:
        """The files that were hashed."""
        return list(self._provenance)

    def __iter__(self) -> Iterator[HashedBatch]:
        first_row, bytes_done = 0, 0
        for found in self._contents():
            S, labels = Signatures.trusted(found.recipe, found.arrays), found.labels()
            size = max(1, _BATCH_BYTES * max(1, len(S)) // max(1, S.nbytes))
            for start in range(0, len(S), size):
                rows = slice(start, start + size)
                batch = Signatures.from_arrays(self.recipe, S[rows].arrays())
                bytes_done += batch.nbytes
                y = None if labels is None else labels[rows]
                yield HashedBatch(batch, y, first_row + start, bytes_done)
            first_row += len(S)

    def take(self, rows: Any) -> Signatures:
        """The signatures of some rows, in the order asked for."""
        places = np.atleast_1d(rows)
        if len(places) and not 0 <= places.min() <= places.max() < self.n_rows:
            raise DataError(
                f"{self.name}: row {places[(places < 0) | (places >= self.n_rows)][0]} is asked "
                f"for; rows go from 0 to {self.n_rows - 1}."
            )
        out = Signatures.empty(self.recipe, len(places)).arrays()
        first_row = 0
        for found in self._contents():
            here = np.flatnonzero((places >= first_row) & (places < first_row + len(found)))
            for name, array in found.arrays.items():
                out[name][here] = array[places[here] - first_row]
            first_row += len(found)
        return Signatures.from_arrays(self.recipe, out)

    def read(self) -> tuple[Signatures, Array | None]:
        """All signatures and labels: memory-mapped if in one file, else in memory."""
        parts = [
            (Signatures.from_arrays(found.recipe, found.arrays), found.labels())
            for found in self._contents()
        ]
        if len(parts) == 1:
            return parts[0]
        labels = [y for _, y in parts if y is not None]
        if labels and len(labels) < len(parts):
            raise DataError(f"{self.name}: some parts have labels and some have none.")
        return concatenate([S for S, _ in parts]), np.concatenate(labels) if labels else None

    def _contents(self) -> Iterator[SignatureFile]:
        """The parts, which must be those that were there when the reader was opened."""
        for part, identity in zip(self.paths, self._identities, strict=True):
            yield read_signatures(part, identity=identity)


AnyReader = RowReader | SignatureReader


class SvmlightFacts(NamedTuple):
    """What is known of svmlight text before it is read: it is not scanned for its columns then."""

    n_columns: int | None = None
    starts: Sequence[BlockStart] = ()  # where reading can begin
    integer_labels: bool | None = None  # whether all labels are integers


NOTHING_KNOWN = SvmlightFacts()


def load_signatures(path: PathLike) -> tuple[Signatures, Array | None]:
    """Signatures and labels (or None) of a signature file or a shard folder.

    Examples
    --------
    >>> import corekernels as ck
    >>> S = ck.CoREHasher(n_hashes=8, random_state=0).fit([[1.0, 2.0]]).sketch([[1.0, 2.0]])
    >>> S.save("rows.safetensors", labels=["spam"])
    >>> S, y = ck.files.load_signatures("rows.safetensors")
    >>> len(S), y.tolist()
    (1, ['spam'])
    """
    return SignatureReader(path).read()


def open_file(
    path: Any, *, match_columns: int | None = None, ignore_new_columns: bool = False,
    svmlight: SvmlightFacts = NOTHING_KNOWN, **reading: Any,
) -> AnyReader:  # fmt: skip
    """A reader of one file, or of all files of a corpus; options of `files.open_reader`.

    `svmlight` has what is known of it if it is svmlight text. With `match_columns`, such text is
    not scanned for the number of its columns.
    """
    if match_columns is None:
        return _open(path, svmlight, **reading)
    wide = MAX_COLUMNS if ignore_new_columns else match_columns
    with _counting_columns(path, match_columns, reading):
        reader = _open(path, svmlight._replace(n_columns=wide), **reading)
    if reader.holds == "signatures":
        return reader
    if reader.n_columns == match_columns:
        is_file = reader.one_based is not None and not reader.is_stream
        return _Matching(reader, reading) if is_file else reader
    if reader.settings is not None:
        raise DataError(f"{reader.name}: is text, what it is to match was not; give rows like it.")
    if reader.n_columns < match_columns:
        return _open(path, svmlight, **{**reading, "n_columns": match_columns})
    if ignore_new_columns:
        return Selected(reader, n_columns=match_columns)
    raise new_columns(reader.name, reader.n_columns, match_columns)


def _open(
    path: Any, svmlight: SvmlightFacts, *, format: str | None = None,  # noqa: A002
    n_columns: int | None = None, one_based: bool | None = None, labels: bool = True,
    n_jobs: int | None = None, like: Sequence[Origin] = (),
    column_names: Sequence[str] | None = None, text: str | Sequence[str] | None = None,
    label: str | None = None, id: str | None = None, shingles: Any = None,  # noqa: A002
    frequencies: "InverseDocumentFrequency | None" = None, skip_bad: int = 0,
    missing: str = "error", max_record_bytes: int = MAX_RECORD_BYTES,
) -> AnyReader:  # fmt: skip
    columns = text_columns_of(like)
    if text is None and columns is not None and _holds_documents(path, format):
        text = columns
    if text is not None:
        if n_columns is not None or one_based is not None:
            raise ParameterError("n_columns, one_based: are not for text; leave them out.")
        settings = getattr(shingles, "settings", shingles)
        digest = None if frequencies is None else frequencies.digest()
        return open_documents(
            path, text, label=label, id=id, shingles=settings_like(settings, text_of(like), digest),
            frequencies=frequencies, format=format, labels=labels, n_jobs=n_jobs, skip_bad=skip_bad,
            max_record_bytes=max_record_bytes,
        )  # fmt: skip
    of_documents = {"id": id, "shingles": shingles or None, "skip_bad": skip_bad or None}
    if text_of(like) is None:  # else they may be those of an index
        of_documents["frequencies"] = frequencies
    if unused := [name for name, value in of_documents.items() if value is not None]:
        raise ParameterError(
            f"{unused[0]}: needs text='COLUMN', being for documents; name the column of text, or "
            "leave it out."
        )
    if format is None and Path(path).is_file():
        format = io.detect(path)  # noqa: A001
    if format == "signatures" or is_shard_folder(path):
        hashed = SignatureReader(path)
        require_same_columns(hashed.name, hashed.provenance, like, column_names)
        return hashed
    if text_of(like) is not None:
        raise DataError(
            f"{path}: is to match rows that were made from text; name the column of text "
            "(text='COLUMN')."
        )
    if format in (None, "svmlight"):
        one_based = column_base(like) if one_based is None else one_based
        n_columns = svmlight.n_columns if n_columns is None else n_columns
    reader = io.open_rows(
        path, format=format, n_columns=n_columns, one_based=one_based, labels=labels, n_jobs=n_jobs,
        column_names=names_of(like) if column_names is None else column_names, label=label,
        missing=missing, max_record_bytes=max_record_bytes,
    )  # fmt: skip
    if svmlight.integer_labels is not None:
        reader.integer_labels = svmlight.integer_labels
        reader.block_starts = svmlight.starts
    return reader


def _holds_documents(path: Any, format: str | None) -> bool:  # noqa: A002
    """Whether a file may hold documents, for rows that are to match some made from text."""
    if not isinstance(path, str | os.PathLike) or is_stream(path):
        return True
    if format is not None:
        return format != "signatures"
    with contextlib.suppress(FileError):  # what is no rows may be documents
        if is_shard_folder(path) or (Path(path).is_file() and io.detect(path) == "signatures"):
            return False
    with contextlib.suppress(FileError):
        return bool(document_format(path))
    return False


class _Matching(Selected):
    """svmlight text over columns known before, which is not scanned for the number of its own."""

    def __init__(self, reader: RowReader, reading: dict[str, Any]) -> None:
        super().__init__(reader)
        self._reading = reading

    def batches(self, first_row: int = 0) -> Iterator[Batch]:
        """As of `RowReader`."""
        with _counting_columns(self.name, self.n_columns, self._reading):
            yield from self._reader.batches(first_row)


@contextlib.contextmanager
def _counting_columns(path: Any, n_before: int, reading: dict[str, Any]) -> Iterator[None]:
    """Turn an error on columns that are too large into one that says how many there are."""
    try:
        yield
    except DataError:
        if is_stream(path) or (n_columns := open_file(path, **reading).n_columns) <= n_before:
            raise
        raise new_columns(path, n_columns, n_before) from None


def new_columns(name: str, n_columns: int, n_before: int) -> DataError:
    """The error about rows that have more columns than were known before."""
    return DataError(
        f"{name}: has {n_columns} columns, {n_before} were known before; leave the new ones out "
        f"(ignore_new_columns=True), or begin again with n_columns={n_columns}."
    )


def recipe_for(reader: Any, **options: Any) -> Recipe:
    """A recipe for the columns of a reader or `PartPlan`; options that are None keep their default.

    Signatures have their recipe already; options that contradict it are refused.
    """
    given = {name: value for name, value in options.items() if value is not None}
    recipe: Recipe | None = getattr(reader, "recipe", None)
    if recipe is None:
        return Recipe(n_columns=reader.n_columns, **given)
    for name, value in given.items():
        if getattr(recipe, name) != value:
            raise ParameterError(
                f"{name}: got {value!r}, but {reader.name} was hashed with "
                f"{getattr(recipe, name)!r}; leave it out, or hash the rows again."
            )
    return recipe


def hashed_batches(
    reader: AnyReader, recipe: Recipe, what: str, *,
    progress: Progress = None, n_jobs: int | None = None,
) -> Iterator[HashedBatch]:  # fmt: skip
    """The signatures of a reader, batch by batch; raw rows are hashed on the way."""
    if reader.holds == "signatures":
        if reader.recipe != recipe:
            raise RecipeMismatch(recipe, reader.recipe)
        yield from with_progress(reader, what, progress)
        return
    for batch in with_progress(reader, what, progress):
        S = sketch_batch(batch.rows, recipe, n_jobs, reader.name)
        yield HashedBatch(S, batch.y, batch.first_row, batch.bytes_done, batch.names)


def sketch_batch(rows: Rows, recipe: Recipe, n_jobs: int | None, name: str) -> Signatures:
    """Signatures of the rows of a batch."""
    if rows.n_columns != recipe.n_columns:
        raise DataError(
            f"{name}: has {rows.n_columns} columns, {recipe.n_columns} were expected; "
            "give rows over the same columns."
        )
    return sketch_rows(rows, recipe, Team(n_jobs))


def require_labels(y: Array | None, name: str) -> Array:
    """The labels, which must be there."""
    if y is None:
        raise DataError(
            f"{name}: has no labels; give a file that holds one for each row, or name the column "
            "of Parquet or of the documents that does (label='COLUMN')."
        )
    return y
