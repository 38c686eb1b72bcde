"""Which of several near-duplicate documents is to stay."""

import math
from collections.abc import Mapping

from .._core.types import Array
from ..errors import DataError
from .reader import DocumentReader

FIRST, LONGEST = "first", "longest"


def preference_scores(
    reader: DocumentReader, prefer: str, rows: Array, progress: bool | None = None
) -> Mapping[int, float] | None:
    """A score for some documents, the highest of which is to stay; None for the first one.

    Parameters
    ----------
    reader : DocumentReader
    prefer : str
        "first", "longest" (the most characters), or the name of a column of numbers.
    rows : ndarray
        Numbers of the documents.

    Examples
    --------
    >>> import corekernels as ck
    >>> with open("notes.txt", "w") as file:
    ...     print("a rose", "a rose is a rose", sep="\\n", file=file)
    >>> reader = ck.documents.open_documents("notes.txt")
    >>> ck.documents.preference_scores(reader, "longest", [0, 1])
    {0: 6, 1: 16}
    """
    if prefer == FIRST:
        return None
    if prefer == LONGEST:
        return {row: len(text) for row, text in reader.texts(rows, progress).items()}
    found = reader.values(prefer, rows, progress)
    return {row: _number(reader, prefer, row, value) for row, value in found.items()}


def _number(reader: DocumentReader, column: str, row: int, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise DataError(
            f"{reader.name}: document {row + 1} has {value!r} as {column!r}; documents are "
            "preferred by numbers: give another column, or fill it."
        )
    return number
