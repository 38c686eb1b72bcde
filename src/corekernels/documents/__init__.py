"""Documents from files: JSON lines, CSV, TSV, plain text, Parquet, folders of text files.

`open_documents` gives a reader of rows, for every job of `corekernels.files`; it needs the
extra `documents`.
"""

from .opening import FORMATS, document_format, format_of_name, open_documents, preference_scores
from .reader import Columns, DocumentReader

__all__ = [
    "FORMATS", "Columns", "DocumentReader", "document_format", "format_of_name",
    "open_documents", "preference_scores",
]  # fmt: skip
