"""Arguments and options that several commands share; groups of options are dataclasses."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import files
from ..io.formats import FORMATS
from ..io.provenance import Origin
from ..io.readers import Reader, RowReader, require_rows
from ..kernel_table import HASHED_KERNELS
from ..recipe import (
    DEFAULT_BITS,
    DEFAULT_HASHES,
    DEFAULT_KERNEL,
    DEFAULT_PROJECTION,
    DEFAULT_SCHEME,
    MAX_BITS,
    PROJECTIONS,
    SCHEMES,
    Recipe,
)
from .printing import show, show_notes


def one_of(names: Sequence[str]) -> str:
    """Names as a sentence lists them: "a, b or c"."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


Rows = Annotated[str, typer.Argument(metavar="IN", help='File of rows, or "-".')]
RowsOrSignatures = Annotated[
    str, typer.Argument(metavar="IN", help='File of rows, "-", signature file or shard folder.')
]
Jobs = Annotated[int | None, typer.Option(help="Threads; all cores unless given.")]
KernelName = Annotated[str, typer.Option(help=f"{one_of(tuple(HASHED_KERNELS))}.")]
Figure = Annotated[Path | None, typer.Option(metavar="FIGURE", help="Draw it: .png, .svg or .pdf.")]


@dataclass(frozen=True)
class Output:
    """What is printed."""

    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, notes or reports.")] = (
        False
    )

    @property
    def progress(self) -> bool | None:
        """Whether long calls show progress: where there is a terminal, unless quiet."""
        return False if self.quiet else None

    def show(self, result: dict[str, Any], *readers: Reader) -> None:
        """Print a result, and before it what readers noted about their files."""
        self.show_notes(*readers)
        show(result, self.as_json, self.quiet)

    def show_notes(self, *readers: Reader) -> None:
        """Print what readers noted about their files."""
        for reader in readers:
            show_notes(reader, self.quiet)


@dataclass(frozen=True)
class Reading:
    """How a file of rows is read."""

    format: Annotated[
        str | None, typer.Option(help=f"{one_of(tuple(FORMATS))}, if the content does not tell.")
    ] = None
    n_columns: Annotated[
        int | None,
        typer.Option(help="Number of columns, if the file does not tell (a pipe cannot)."),
    ] = None
    one_based: Annotated[
        bool | None,
        typer.Option(
            "--one-based/--zero-based", help="Where svmlight columns count from, if unclear."
        ),
    ] = None

    def open(self, path: str, **options: Any) -> files.AnyReader:
        """A reader of rows or signatures."""
        return files.open_reader(path, **asdict(self), **options)

    def open_rows(self, path: str, **options: Any) -> RowReader:
        """A reader of rows."""
        return require_rows(self.open(path, **options))


@dataclass(frozen=True)
class Matching:
    """How rows are read that must have the columns of others known before."""

    one_based: Annotated[
        bool | None,
        typer.Option(
            "--one-based/--zero-based", help="Where svmlight columns count from, if unclear."
        ),
    ] = None
    ignore_new_columns: Annotated[
        bool,
        typer.Option("--ignore-new-columns", help="Leave out columns that were not known before."),
    ] = False

    def open(
        self, path: str, n_columns: int, like: Sequence[Origin], **options: Any
    ) -> files.AnyReader:
        """A reader of rows over the columns known before, or of signatures."""
        return files.open_matching(path, n_columns, like=like, **asdict(self), **options)


@dataclass(frozen=True)
class Hashing:
    """How rows are hashed."""

    kernel: Annotated[
        str | None,
        typer.Option(help=f"{one_of(tuple(HASHED_KERNELS))}.  [default: {DEFAULT_KERNEL}]"),
    ] = None
    n_hashes: Annotated[
        int | None, typer.Option(help=f"Hashes per row, k.  [default: {DEFAULT_HASHES}]")
    ] = None
    n_bits: Annotated[
        int | None,
        typer.Option(help=f"Bits kept of each, b: 1 to {MAX_BITS}.  [default: {DEFAULT_BITS}]"),
    ] = None
    scheme: Annotated[
        str | None, typer.Option(help=f"{one_of(SCHEMES)}.  [default: {DEFAULT_SCHEME}]")
    ] = None
    projection: Annotated[
        str | None,
        typer.Option(help=f"{one_of(PROJECTIONS)}, for core1.  [default: {DEFAULT_PROJECTION}]"),
    ] = None
    seed: Annotated[int | None, typer.Option(help="Seed of the hash.  [default: 0]")] = None

    def recipe(self, reader: files.AnyReader) -> Recipe:
        """The recipe that the options make for the columns of a reader."""
        return files.recipe_for(reader, **asdict(self))


Format = Annotated[
    str | None, typer.Option(help=f"{one_of(tuple(FORMATS))}, if the content does not tell.")
]
