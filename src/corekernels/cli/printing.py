"""What commands print: results as lines, tables or JSON."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from .._core.escaping import visible
from ..io.targets import Target

STANDARD_OUTPUT = "-"


def to_write(target: str) -> Target:
    """What an argument names: a file, or standard output."""
    return sys.stdout.buffer if target == STANDARD_OUTPUT else target


def say(text: str, kind: str) -> None:
    """Print a line on standard error: a note, a warning or an error."""
    print(f"{kind}: {visible(text)}", file=sys.stderr)


def show(result: dict[str, Any], as_json: bool, quiet: bool = False) -> None:
    """Print a result: one JSON object, or one line per item; nothing if quiet."""
    if as_json:
        print(json.dumps(plain(result)))
    elif not quiet:
        width = max(len(name) for name in result)
        for name, value in result.items():
            print(visible(f"{name.replace('_', ' '):<{width}}  {in_words(value)}"))


def show_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: the first column to the left, numbers to the right."""
    table = Table(box=None, pad_edge=False, header_style="")
    for number, name in enumerate(columns):
        left = number == 0 or not name  # names and bars, not numbers
        table.add_column(name, justify="left" if left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*map(visible, row))
    width = None if sys.stdout.isatty() else 200
    Console(width=width, highlight=False, markup=False, emoji=False).print(table)


def in_words(value: Any) -> str:
    """A value as people read it."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    return "-" if value is None else str(value)


def plain(value: Any) -> Any:
    """What JSON can hold of a value: no NaN, no arrays, no paths."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(item) for item in value]
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return os.fspath(value) if isinstance(value, Path) else value
