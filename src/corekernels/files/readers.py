"""Readers of files: raw rows and signatures alike."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .. import io
from .._core.arguments import Array, PathLike
from .._core.team import Team
from .._core.validation import Rows
from ..documents.opening import open_documents
from ..errors import DataError, ParameterError, RecipeMismatch
from ..io.provenance import Identity, Origin, column_base, names_of, require_same_columns, text_of
from ..io.readers import Reader, RowReader, with_progress
from ..io.signature_file import SignatureFile, read_signatures
from ..recipe import Recipe
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
    """The signatures of a file or shard folder, in batches that stay on the disk until used.

    Attributes are those of `io.Reader`, and `recipe`.

    Examples
    --------
    >>> import corekernels as ck
    >>> S = ck.CoREHasher(n_hashes=8, random_state=0).fit([[1.0, 2], [3, 0]]).sketch([[1.0, 2]])
    >>> S.save("rows.sig")
    >>> reader = ck.files.open_reader("rows.sig")
    >>> reader.n_rows, reader.recipe.n_hashes
    (1, 8)
    """

    format = "signatures"
    holds: Literal["signatures"] = "signatures"
    has_names = False
    n_rows: int
    n_bytes: int

    def __init__(self, path: PathLike) -> None:
        self.name = os.fspath(path)
        self.parts = part_files(path)
        self._provenance: list[Origin] = []
        self._identities: list[Identity] = []
        self.n_rows = 0
        for part in self.parts:
            found = read_signatures(part)
            if not self._identities:
                self.recipe = found.recipe
            if found.recipe != self.recipe:
                raise RecipeMismatch(self.recipe, found.recipe)
            self.n_rows += len(found)
            self._provenance.extend(found.provenance)
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
            S, labels = _signatures_and_labels(found)
            size = max(1, _BATCH_BYTES * max(1, len(S)) // max(1, S.nbytes))
            for start in range(0, len(S), size):
                some = slice(start, start + size)
                batch = S[some]
                bytes_done += batch.nbytes
                y = None if labels is None else labels[some]
                yield HashedBatch(batch, y, first_row + start, bytes_done)
            first_row += len(S)

    def take(self, rows: Any) -> Signatures:
        """The signatures of some rows, in the order asked for."""
        wanted = np.atleast_1d(rows)
        if len(wanted) and not 0 <= wanted.min() <= wanted.max() < self.n_rows:
            raise DataError(
                f"{self.name}: row {wanted[(wanted < 0) | (wanted >= self.n_rows)][0]} is asked "
                f"for; rows go from 0 to {self.n_rows - 1}."
            )
        out = Signatures.empty(self.recipe, len(wanted)).arrays()
        first_row = 0
        for found in self._contents():
            here = np.flatnonzero((wanted >= first_row) & (wanted < first_row + len(found)))
            for name, array in found.arrays.items():
                out[name][here] = array[wanted[here] - first_row]
            first_row += len(found)
        return Signatures.from_arrays(self.recipe, out)

    def read(self) -> tuple[Signatures, Array | None]:
        """All signatures and labels: memory-mapped if in one file, else in memory."""
        parts = [_signatures_and_labels(found) for found in self._contents()]
        if len(parts) == 1:
            return parts[0]
        labels = [y for _, y in parts if y is not None]
        if labels and len(labels) < len(parts):
            raise DataError(f"{self.name}: some parts have labels and some have none.")
        return concatenate([S for S, _ in parts]), np.concatenate(labels) if labels else None

    def _contents(self) -> Iterator[SignatureFile]:
        """The parts, which must be those that were there when the reader was opened."""
        for part, identity in zip(self.parts, self._identities, strict=True):
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


def open_reader(
    path: PathLike,
    *,
    format: str | None = None,  # noqa: A002
    n_columns: int | None = None,
    one_based: bool | None = None,
    labels: bool = True,
    n_jobs: int | None = None,
    like: Sequence[Origin] = (),
    column_names: Sequence[str] | None = None,
    text: str | Sequence[str] | None = None,
    label: str | None = None,
    id: str | None = None,  # noqa: A002
    shingles: Any = None,
    frequencies: "InverseDocumentFrequency | None" = None,
) -> AnyReader:
    """A reader of a file: rows (`io.open_rows`), documents (`documents.open_documents`) or
    signatures.

    Parameters
    ----------
    path : path
        A file of rows or of signatures, or a shard folder; "-" is standard input. With `text`,
        a file, several, or a pattern, as for `documents.open_documents`.
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

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.io.write_rows("rows.svm", [[0, 1.5, 0], [2, 0, 1]], [1, -1])
    >>> reader = ck.files.open_reader("rows.svm")
    >>> [(batch.X.nnz, batch.y.tolist()) for batch in reader]
    [(3, [1, -1])]
    >>> reader.format, reader.n_columns
    ('svmlight', 3)
    """
    if text is not None:
        if n_columns is not None or one_based is not None:
            raise ParameterError("n_columns, one_based: are not for text; leave them out.")
        given = getattr(shingles, "settings", shingles)
        digest = None if frequencies is None else frequencies.digest()
        return open_documents(
            path, text, label=label, id=id, shingles=settings_like(given, text_of(like), digest),
            frequencies=frequencies, format=format, labels=labels, n_jobs=n_jobs,
        )  # fmt: skip
    of_documents = {"id": id, "frequencies": frequencies}
    given_names = [name for name, value in of_documents.items() if value is not None]
    if given_names or shingles:
        raise ParameterError(
            f"{[*given_names, 'shingles'][0]}: needs text='COLUMN', being for documents; name the "
            "column of text, or leave it out."
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
    if one_based is None and format in (None, "svmlight"):
        one_based = column_base(like)
    return io.open_rows(
        path, format=format, n_columns=n_columns, one_based=one_based, labels=labels, n_jobs=n_jobs,
        column_names=names_of(like) if column_names is None else column_names, label=label,
    )  # fmt: skip


def recipe_for(reader: AnyReader, **options: Any) -> Recipe:
    """A recipe for the columns of a reader; options that are None keep their default.

    A reader of signatures has its recipe already; options that contradict it are refused.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.io.write_rows("rows.npz", [[0, 1.5, 0], [2, 0, 1]])
    >>> reader = ck.files.open_reader("rows.npz")
    >>> recipe = ck.files.recipe_for(reader, kernel="core2", n_hashes=64)
    >>> recipe.kernel, recipe.n_hashes, recipe.n_columns
    ('core2', 64, 3)
    """
    given = {name: value for name, value in options.items() if value is not None}
    if reader.holds == "signatures":
        for name, value in given.items():
            found = getattr(reader.recipe, name)
            if found != value:
                raise ParameterError(
                    f"{name}: got {value!r}, but {reader.name} was hashed with {found!r}; "
                    "leave it out, or hash the rows again."
                )
        return reader.recipe
    return Recipe(n_columns=reader.n_columns, **given)


def hashed_batches(
    reader: AnyReader, recipe: Recipe, what: str, *,
    progress: bool | None = None, n_jobs: int | None = None,
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


def _signatures_and_labels(found: SignatureFile) -> tuple[Signatures, Array | None]:
    return Signatures.from_arrays(found.recipe, found.arrays), found.labels()
