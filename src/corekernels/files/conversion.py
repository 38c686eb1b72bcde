"""Rows from one format into another, and what a file is."""

import os

from .. import io
from .._core.arguments import PathLike
from ..io.atomic import require_target
from ..io.readers import RowReader, with_progress
from ..io.streams import STANDARD_INPUT
from .kernels import gram_description
from .shards import is_shard_folder
from .sources import is_several, source_files


def convert(
    reader: RowReader, target: PathLike, *, format: str | None = None,  # noqa: A002
    progress: bool | None = None,
) -> int:  # fmt: skip
    """Write all rows and labels of a reader in another format; number of rows.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.io.write_rows("rows.svm", [[0, 1.5], [2, 0]], [1, -1])
    >>> ck.files.convert(ck.files.open_reader("rows.svm"), "rows.npz")
    2
    """
    n_rows = 0
    if os.fspath(target) != STANDARD_INPUT:
        require_target(target, reader.name)
    with io.RowWriter(target, format=format) as writer:
        for batch in with_progress(reader, "converting", progress):
            writer.write(batch.rows, batch.y)
            n_rows += len(batch)
    return n_rows


def file_kind(path: PathLike, format: str | None = None) -> str:  # noqa: A002
    """What a file is: "rows", "signatures" (also a shard folder), "model", "index" or "gram".

    Of a folder, or a pattern, the first file tells.
    """
    if format is not None or os.fspath(path) == "-":
        return "signatures" if format == "signatures" else "rows"
    if is_shard_folder(path):
        return "signatures"
    if is_several(path, False):
        path = source_files(path)[0]
    found = io.detect(path)
    if found == "npy" and gram_description(path) is not None:
        return "gram"
    return found if found in io.CONTAINER_KINDS.values() else "rows"
