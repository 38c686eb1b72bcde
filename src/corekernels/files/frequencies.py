"""Document frequencies of files."""

from .._core.arguments import PathLike
from ..errors import DataError
from ..io.readers import RowReader, require_rows, with_progress
from ..text.frequencies import InverseDocumentFrequency


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
