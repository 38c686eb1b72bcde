"""Documents from files: JSON lines, CSV, TSV, plain text, Parquet, folders of text files.

`open_documents` gives a reader of rows, for every job of `corekernels.files`; it needs the
extra `documents`.
"""

from .._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
