"""What all commands share: errors and exit codes, options, printing."""

import contextlib
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from ..errors import CoREError

HELP = """CoRE kernels on files: exact kernels, hashing, learning, search, advice.

Rows come from svmlight text (plain, gz, bz2), .npz, .npy or Parquet files, told apart by their
content; "-" is svmlight text from standard input. Results go to standard output, everything
else to standard error.

Exit codes: 0 all is well; 1 something unexpected; 2 bad input or usage; 130 interrupted.
"""


class Commands(TyperGroup):
    """Errors raised on purpose become one line and exit code 2; closed pipes end quietly."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            with _one_line_warnings():
                result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError:
            _close_standard_output()
            raise typer.Exit(0) from None
        except CoREError as error:
            if isinstance(error.__cause__, BrokenPipeError):
                _close_standard_output()
                raise typer.Exit(0) from None
            print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
            raise typer.Exit(2) from None


app = typer.Typer(
    cls=Commands,
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def command(example: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command whose help ends with an example, which the tests run."""
    epilog = f"Example:\n\n\b\n  {example}"

    def register(function: Callable[..., None]) -> Callable[..., None]:
        name = function.__name__.rstrip("_")
        app.command(name, epilog=epilog)(function)
        return function

    return register


Source = Annotated[str, typer.Argument(metavar="IN", help='File of rows, or "-".')]
AnySource = Annotated[
    str, typer.Argument(metavar="IN", help='File of rows, "-", signature file or shard folder.')
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, notes or reports.")]
Jobs = Annotated[int | None, typer.Option(help="Threads; all cores unless given.")]
Format = Annotated[
    str | None, typer.Option(help="svmlight, npz, npy or parquet, if the content does not tell.")
]
Columns = Annotated[
    int | None, typer.Option(help="Number of columns, if the file does not tell (a pipe cannot).")
]
OneBased = Annotated[
    bool | None,
    typer.Option("--one-based/--zero-based", help="Where svmlight columns count from, if unclear."),
]
IgnoreNew = Annotated[
    bool,
    typer.Option("--ignore-new-columns", help="Leave out columns that were not known before."),
]
Seed = Annotated[int | None, typer.Option(help="Seed of the hash.  [default: 0]")]
Kernel = Annotated[str | None, typer.Option(help="core1, core2 or resemblance.  [default: core1]")]
Hashes = Annotated[int | None, typer.Option(help="Hashes a row, k.  [default: 1024]")]
Bits = Annotated[int | None, typer.Option(help="Bits kept of each, b: 1 to 16.  [default: 8]")]
Scheme = Annotated[
    str | None,
    typer.Option(help="circulant, independent or one-permutation.  [default: circulant]"),
]
Projection = Annotated[
    str | None, typer.Option(help="gaussian or rademacher, for core1.  [default: gaussian]")
]


def show_notes(source: Any, quiet: bool) -> None:
    """Say what a reader noted about its file."""
    if not quiet:
        for note in source.notes:
            print(f"note: {source.name}: {note}", file=sys.stderr)


def show(result: dict[str, Any], as_json: bool, quiet: bool = False) -> None:
    """Print a result: one JSON object, or a line for each item; nothing if quiet."""
    if as_json:
        print(json.dumps(plain(result)))
    elif not quiet:
        width = max(len(name) for name in result)
        for name, value in result.items():
            print(f"{name.replace('_', ' '):<{width}}  {in_words(value)}")


def show_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: the first column to the left, numbers to the right."""
    table = Table(box=None, pad_edge=False, header_style="")
    for number, name in enumerate(columns):
        left = number == 0 or not name  # names and bars, not numbers
        table.add_column(name, justify="left" if left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
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


@contextlib.contextmanager
def _one_line_warnings() -> Iterator[None]:
    """Warnings without the line of code that raised them."""

    def line(message: Any, *rest: Any, **more: Any) -> None:
        print(f"warning: {' '.join(str(message).split())}", file=sys.stderr)

    old, warnings.showwarning = warnings.showwarning, line
    try:
        yield
    finally:
        warnings.showwarning = old


def _close_standard_output() -> None:
    """Keep the interpreter from complaining again when it flushes at its end."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
