from .atomic import atomic_write as atomic_write
from .containers import load_arrays as load_arrays, save_arrays as save_arrays
from .formats import (
    CONTAINER_KINDS as CONTAINER_KINDS,
    FileRows as FileRows,
    Format as Format,
    ReadOptions as ReadOptions,
    add_format as add_format,
    detect as detect,
)
from .provenance import Origin as Origin
from .readers import Batch as Batch, RowReader as RowReader
from .rows import (
    RowWriter as RowWriter,
    open_rows as open_rows,
    read_rows as read_rows,
    write_rows as write_rows,
)
