"""Readers of files: raw rows and signatures alike.

A shard folder holds `part-00000.safetensors`, `part-00001.safetensors` and so on. Shards that are
appended come last to first: until the first of them is there, the others stand behind a gap and
do not count.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
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
from ..io.atomic import Target
from ..io.containers import Stacked
from ..io.job_folder import unfinished_folder
from ..io.provenance import (
    Identity,
    Origin,
    column_base,
    join_runs,
    names_of,
    require_same_columns,
    text_columns_of,
    text_of,
)
from ..io.readers import Batch, BlockStart, RowReader, Selected, with_progress
from ..io.signature_file import SignatureFile, read_signatures, write_signatures
from ..io.streams import MAX_RECORD_BYTES, is_stream
from ..recipe import MAX_COLUMNS, Recipe
from ..signatures import Signatures, concatenate, sketch_rows
from ..text.settings import settings_like

if TYPE_CHECKING:
    from ..text.frequencies import InverseDocumentFrequency

_BATCH_BYTES = 16 << 20


def part_name(number: int) -> str:
    """File name of a shard.

    >>> part_name(3)
    'part-00003.safetensors'
    """
    return f"part-{number:05d}.safetensors"


def is_shard_folder(path: PathLike) -> bool:
    """Whether a folder holds shards."""
    return (Path(path) / part_name(0)).exists()


def part_files(path: PathLike) -> list[Path]:
    """The shards of a folder in order; a signature file is its own only part."""
    folder = Path(path)
    if not folder.is_dir():
        if unfinished_folder(folder).is_dir() and not folder.exists():
            raise FileError(f"{path}: left by an unfinished run; resume that, or hash anew.")
        return [folder]
    files = in_order(folder)
    is_next = (path.name == part_name(number) for number, path in enumerate(files))
    n_parts = next((number for number, fits in enumerate(is_next) if not fits), len(files))
    if n_parts < len(files) and not unfinished_folder(folder).is_dir():
        raise FileError(f"{path}: {part_name(n_parts)} is missing; copy the folder again.")
    if not n_parts:
        raise FileError(f"{path}: holds no {part_name(0)}; give a file or a shard folder.")
    return files[:n_parts]


def in_order(folder: Path) -> list[Path]:
    """All shards by their numbers, which have more than five digits where shards are many."""
    parts = folder.glob("part-*.safetensors")
    return sorted(parts, key=lambda path: (len(path.name), path.name))


def require_recipe(path: PathLike, recipe: Recipe) -> SignatureFile:
    """A file of signatures, which must have been hashed by this recipe."""
    contents = read_signatures(path)
    if contents.recipe != recipe:
        raise RecipeMismatch(contents.recipe, recipe)
    return contents


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


class SignatureReader:
    """The signatures of a file or shard folder, or of several, in batches that stay on the disk.

    `format`, `name`, `n_columns`, `n_rows`, `n_bytes`, `is_stream`, `notes` and `provenance` are as
    of `io.RowReader`; `recipe` says how the rows were hashed.
    """

    format = "signatures"
    holds: Literal["signatures"] = "signatures"
    has_names = is_stream = False
    notes: Sequence[str] = ()

    def __init__(self, path: PathLike | Sequence[PathLike]) -> None:
        paths = [path] if isinstance(path, str | os.PathLike) else list(path)
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        self.name = os.fspath(paths[0]) + more
        self.paths = [str(part) for path in paths for part in part_files(path)]
        self.provenance: list[Origin] = []  # the files that were hashed
        self._identities: list[Identity] = []
        self.n_rows = 0
        for part in self.paths:  # one at a time: there may be more than a process may map
            contents = read_signatures(part)
            self.recipe = getattr(self, "recipe", contents.recipe)
            if contents.recipe != self.recipe:
                raise RecipeMismatch(self.recipe, contents.recipe)
            self.n_rows += len(contents)
            self.provenance += contents.provenance
            self._identities.append(contents.identity)
        self.n_columns = self.recipe.n_columns
        self.n_bytes = sum(identity.n_bytes for identity in self._identities)

    def __iter__(self) -> Iterator[HashedBatch]:
        first_row, bytes_done = 0, 0
        for part in self._contents():
            S, labels = Signatures.trusted(part.recipe, part.arrays), part.labels()
            size = max(1, _BATCH_BYTES * max(1, len(S)) // max(1, S.nbytes))
            for start in range(0, len(S), size):
                rows = slice(start, start + size)
                batch = Signatures.from_arrays(self.recipe, S[rows].arrays())
                bytes_done += batch.nbytes
                y = None if labels is None else labels[rows]
                yield HashedBatch(batch, y, first_row + start, bytes_done)
            first_row += len(S)

    def take(self, rows: Any) -> Signatures:
        """The signatures of some rows, in the given order."""
        places = np.atleast_1d(rows)
        if len(places) and not 0 <= places.min() <= places.max() < self.n_rows:
            raise DataError(
                f"{self.name}: row {places[(places < 0) | (places >= self.n_rows)][0]} is asked "
                f"for; rows go from 0 to {self.n_rows - 1}."
            )
        out = Signatures.empty(self.recipe, len(places)).arrays()
        first_row = 0
        for part in self._contents():
            here = np.flatnonzero((places >= first_row) & (places < first_row + len(part)))
            for name, array in part.arrays.items():
                out[name][here] = array[places[here] - first_row]
            first_row += len(part)
        return Signatures.from_arrays(self.recipe, out)

    def read(self) -> tuple[Signatures, Array | None]:
        """All signatures and labels: memory-mapped if in one file, else in memory."""
        parts = list(self._contents())
        signatures = [Signatures.from_arrays(part.recipe, part.arrays) for part in parts]
        labels = [part.labels() for part in parts]
        if len(parts) == 1:
            return signatures[0], labels[0]
        require_one_kind(
            {label_kind(y): str(part.path) for part, y in zip(parts, labels, strict=True)}
        )
        y: Array | None = None if labels[0] is None else np.concatenate(labels)  # type: ignore[arg-type]
        return concatenate(signatures), y

    def write(self, target: Target) -> None:
        """Put all of it into one file, without reading it into memory."""
        stacked = {
            name: Stacked(dtype, (self.n_rows, *shape), partial(self._arrays, name))
            for name, (dtype, shape) in self.recipe.sketch.arrays.items()
        }
        labels, classes = self._stacked_labels()
        write_signatures(target, self.recipe, stacked, labels, classes, join_runs(self.provenance))

    def _arrays(self, name: str) -> Iterator[Array]:
        return (part.arrays[name] for part in self._contents())

    def _stacked_labels(self) -> tuple[Stacked | None, list[Any] | None]:
        """Labels of all parts as numbers, and the classes these number if labels are no numbers."""
        kinds: dict[str, str] = {}
        types, classes, are_classes = set[Any](), set[Any](), True
        for part in self._contents():
            labels = part.labels()
            kinds.setdefault(label_kind(labels), str(part.path))
            if labels is not None:
                types.add(labels.dtype)
            classes |= {*(part.classes or ())}
            are_classes = are_classes and part.classes is not None
        require_one_kind(kinds)
        if not types:
            return None, None
        ordered = sorted(classes)
        dtype = np.dtype(np.int32) if are_classes else np.result_type(*types)

        def numbers() -> Iterator[Array]:
            for part in self._contents():
                labels = part.labels()
                assert labels is not None
                yield (np.searchsorted(ordered, labels) if are_classes else labels).astype(dtype)

        return Stacked(dtype, (self.n_rows,), numbers), ordered if are_classes else None

    def _contents(self) -> Iterator[SignatureFile]:
        """The parts, which must be those that were there when the reader was opened."""
        for part, identity in zip(self.paths, self._identities, strict=True):
            yield read_signatures(part, identity=identity)


AnyReader = RowReader | SignatureReader


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


class SvmlightFacts(NamedTuple):
    """What is known of svmlight text before it is read: it is not scanned for its columns then."""

    n_columns: int | None = None
    starts: Sequence[BlockStart] = ()  # where reading can begin
    integer_labels: bool | None = None  # whether all labels are integers


NOTHING_KNOWN = SvmlightFacts()


def open_file(
    path: Any, *, match_columns: int | None = None, ignore_new_columns: bool = False,
    svmlight: SvmlightFacts = NOTHING_KNOWN, **reading: Any,
) -> AnyReader:  # fmt: skip
    """A reader of one file, or of all files of a corpus; options of `open_reader`.

    `svmlight` has what is known of it if it is svmlight text. With `match_columns`, such text is
    not scanned for the number of its columns.
    """
    if match_columns is None:
        return _open(path, svmlight, **reading)
    widest = MAX_COLUMNS if ignore_new_columns else match_columns
    reader = _open(path, svmlight._replace(n_columns=widest), **reading)
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


class _Matching(Selected):
    """svmlight text over columns known before, which are counted only if there are more."""

    def __init__(self, reader: RowReader, reading: dict[str, Any]) -> None:
        super().__init__(reader)
        self._reading = reading

    def batches(self, first_row: int = 0) -> Iterator[Batch]:
        """As of `RowReader`."""
        try:
            yield from self._reader.batches(first_row)
        except DataError:
            n_columns = open_file(self.name, **self._reading).n_columns
            if n_columns <= self.n_columns:
                raise
            raise new_columns(self.name, n_columns, self.n_columns) from None


def new_columns(name: str, n_columns: int, n_before: int) -> DataError:
    """The error about rows that have more columns than were known before."""
    return DataError(
        f"{name}: has {n_columns} columns, {n_before} were known before; leave the new ones out "
        f"(ignore_new_columns=True), or begin again with n_columns={n_columns}."
    )


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


def recipe_for(reader: Any, **options: Any) -> Recipe:
    """A recipe for the columns of a reader or `PartPlan`; options that are None keep their default.

    Signatures have their recipe already; options that contradict it are refused.
    """
    settings = {name: value for name, value in options.items() if value is not None}
    recipe: Recipe | None = getattr(reader, "recipe", None)
    if recipe is None:
        return Recipe(n_columns=reader.n_columns, **settings)
    for name, value in settings.items():
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
