"""What can be learned from or asked about: files of raw rows and files of signatures alike."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import io
from .._core.validation import as_matrix
from .._hashing.signature_file import read_signatures, unpack_labels
from .._hashing.sketch import sketch
from ..errors import DataError, FileError, ParameterError, RecipeMismatch
from ..io.streams import display_name, is_stream
from ..recipe import Recipe
from ..signatures import Signatures, concatenate
from .shards import is_shard_folder, part_files

Array = npt.NDArray[Any]

_BATCH_BYTES = 16 << 20


@dataclass(frozen=True)
class HashedBatch:
    """Some consecutive rows: their signatures, and their labels if there are any."""

    signatures: Signatures
    y: Array | None
    first_row: int
    bytes_done: int | None


class SignatureReader:
    """The signatures of a file or shard folder, in batches that stay on the disk until used.

    Attributes are those of the readers of raw rows, and `recipe`.
    """

    format = "signatures"
    notes: tuple[str, ...] = ()

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = os.fspath(path)
        self.parts = part_files(path)
        self.sources: list[dict[str, Any]] = []
        self.n_rows = 0
        self.recipe = read_signatures(self.parts[0])[0]
        for part in self.parts:
            recipe, arrays, about = read_signatures(part)
            if recipe != self.recipe:
                raise RecipeMismatch(self.recipe, recipe)
            self.n_rows += len(Signatures._checked(part, recipe, arrays))
            self.sources.extend(about.get("sources") or [])
        self.n_columns = self.recipe.n_columns
        self.n_bytes = sum(part.stat().st_size for part in self.parts)

    def __iter__(self) -> Iterator[HashedBatch]:
        first_row, bytes_done = 0, 0
        for part in self.parts:
            S, labels = _read_part(part)
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
        out = Signatures.empty(self.recipe, len(wanted))
        first_row = 0
        for part in self.parts:
            S, _ = _read_part(part)
            here = np.flatnonzero((wanted >= first_row) & (wanted < first_row + len(S)))
            for name, array in S[wanted[here] - first_row]._arrays().items():
                getattr(out, name)[here] = array
            first_row += len(S)
        return out

    def read(self) -> tuple[Signatures, Array | None]:
        """All signatures and labels: memory-mapped if in one file, else in memory."""
        parts = [_read_part(part) for part in self.parts]
        if len(parts) == 1:
            return parts[0]
        labels = [y for _, y in parts if y is not None]
        if labels and len(labels) < len(parts):
            raise DataError(f"{self.name}: some parts have labels and some have none.")
        return concatenate([S for S, _ in parts]), np.concatenate(labels) if labels else None


def load_signatures(path: str | os.PathLike[str]) -> tuple[Signatures, Array | None]:
    """Signatures and labels (or None) of a signature file or a shard folder.

    Examples
    --------
    >>> import corekernels as ck, os, tempfile
    >>> S = ck.CoREHasher(n_hashes=8, random_state=0).fit([[1.0, 2.0]]).sketch([[1.0, 2.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     S.save(os.path.join(folder, "rows.safetensors"), labels=["spam"])
    ...     S, y = ck.files.load_signatures(os.path.join(folder, "rows.safetensors"))
    >>> len(S), y.tolist()
    (1, ['spam'])
    """
    return SignatureReader(path).read()


def open_source(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    n_columns: int | None = None,
    one_based: bool | None = None,
    labels: bool = True,
    like: list[dict[str, Any]] | None = None,
) -> Any:
    """A reader of a file, told by its content: rows (`io.open_rows`) or signatures.

    Parameters
    ----------
    path : path
        A file of rows or of signatures, or a shard folder; "-" is standard input.
    format, n_columns, one_based, labels
        As for `io.open_rows`; a signature file needs none of them.
    like : list of dict, optional
        Sources of the signatures or the model that the rows are for. svmlight text does not
        say whether columns count from 0 or 1; unless `one_based` does, it is read as they were.
    """
    if format == "signatures" or is_shard_folder(path):
        return SignatureReader(path)
    if format is None and Path(path).is_file():
        format = io.detect(path)  # noqa: A001
    if format == "signatures":
        return SignatureReader(path)
    if one_based is None and format in (None, "svmlight"):
        found = {entry["one_based"] for entry in like or [] if "one_based" in entry}
        one_based = found.pop() if len(found) == 1 else None
    return io.open_rows(
        path, format=format, n_columns=n_columns, one_based=one_based, labels=labels
    )


def recipe_for(source: Any, **options: Any) -> Recipe:
    """A recipe for the columns of a source; options that are None keep their default.

    A source of signatures has its recipe already; options that contradict it are refused.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if isinstance(source, SignatureReader):
        for name, value in given.items():
            found = getattr(source.recipe, name)
            if found != value and not (name == "projection" and found is None):
                raise ParameterError(
                    f"{name}: got {value!r}, but {source.name} was hashed with {found!r}; "
                    "leave it out, or hash the rows again."
                )
        return source.recipe
    if source.n_columns is None:
        raise ParameterError(
            f"n_columns: {source.name} does not say how many columns its rows have; give n_columns."
        )
    return Recipe(n_columns=source.n_columns, **given)


def hashed_batches(source: Any, recipe: Recipe, n_jobs: int | None = None) -> Iterator[HashedBatch]:
    """The signatures of a source, batch by batch; raw rows are hashed on the way."""
    hashed = getattr(source, "recipe", None)
    if hashed is not None and hashed != recipe:
        raise RecipeMismatch(recipe, hashed)
    for batch in source:
        if hashed is not None:
            yield batch
            continue
        S = sketch_batch(batch.X, recipe, n_jobs, source.name)
        yield HashedBatch(S, batch.y, batch.first_row, batch.bytes_done)


def sketch_batch(X: Any, recipe: Recipe, n_jobs: int | None, name: str) -> Signatures:
    """Signatures of the rows of a batch."""
    matrix = as_matrix(X, name)
    if matrix.shape[1] != recipe.n_columns:
        raise DataError(
            f"{name}: has {matrix.shape[1]} columns, {recipe.n_columns} were expected; "
            "give rows over the same columns."
        )
    return sketch(matrix, recipe, n_jobs, name)


def source_entry(source: Any, first_row: int, n_rows: int) -> dict[str, Any]:
    """Where some rows came from, for a file made of them."""
    entry = {"source": short_name(source.name), "first_row": first_row, "rows": n_rows}
    one_based = getattr(source, "one_based", None)
    return entry if one_based is None else entry | {"one_based": bool(one_based)}


def sources_of(source: Any) -> list[dict[str, Any]]:
    """Where the rows of a reader come from: of signatures, the files that were hashed."""
    return list(getattr(source, "sources", [source_entry(source, 0, 0)]))


def require_rows(source: Any) -> None:
    """Refuse signatures where raw rows are needed."""
    if getattr(source, "recipe", None) is not None:
        raise DataError(f"{source.name}: holds signatures; give the raw rows.")


def require_file(path: str | os.PathLike[str], passes_once: bool | None = None) -> None:
    """Refuse a pipe where rows have to be read again."""
    if is_stream(path) if passes_once is None else passes_once:
        raise FileError(
            f"{display_name(path)}: can be read only once, and its rows are needed again; write "
            "them to a file first."
        )


def require_target(path: str | os.PathLike[str], *others: str | os.PathLike[str]) -> Path:
    """Refuse, before any work is done, a file that could not be written after it.

    Or should not: because it is one of `others`, which are read, or written as well.
    """
    target = Path(path)
    if os.path.realpath(target) in [os.path.realpath(other) for other in others]:
        raise FileError(f"{target}: is read or written already; give another name.")
    if target.is_dir():
        raise FileError(f"{target}: is a folder; give the name of a file.")
    if not target.parent.is_dir():
        raise FileError(f"{target}: the folder {target.parent} does not exist; make it first.")
    if not os.access(target.parent, os.W_OK):
        raise FileError(f"{target}: the folder {target.parent} may not be written to.")
    return target


def labels_of(y: Array | None, name: str) -> Array:
    """The labels, which must be there."""
    if y is None:
        raise DataError(f"{name}: has no labels; give a file that holds one for each row.")
    return y


def short_name(name: str) -> str:
    """A source's name without the folders it happens to lie in."""
    return os.path.basename(name)


def _read_part(path: Path) -> tuple[Signatures, Array | None]:
    recipe, arrays, about = read_signatures(path)
    S = Signatures._checked(path, recipe, arrays)
    return S, unpack_labels(path, arrays, about, len(S))
