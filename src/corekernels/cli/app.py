"""The application: commands, their errors and exit codes."""

import contextlib
import dataclasses
import inspect
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import corekernels

from .._core.escaping import visible
from .._loops.compilation import unannounced
from ..errors import CoREError
from .printing import name_options, option_names, say

HELP = """CoRE kernels on files: exact kernels, hashing, learning, search, advice.

Rows come from svmlight text (plain or compressed), .npz, .npy or Parquet files, told apart by
their content; "-" is svmlight text from standard input. With --text COLUMN, rows are documents
from JSON lines, CSV, TSV, Parquet, plain text or a folder of text files. Results go to standard
output, everything else to standard error.

Exit codes: 0 success; 1 something unexpected; 2 bad input or usage; 130 interrupted.
"""


class Commands(TyperGroup):
    """Errors raised on purpose become one line and exit code 2; closed pipes end quietly."""

    _given: frozenset[str] = frozenset()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Remember what was given."""
        self._given = frozenset(args)
        with _visible_usage():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        silent = bool({"-q", "--quiet", "warmup"} & self._given)
        own = [command for name, command in self.commands.items() if name in self._given]
        options = option_names([*own, *self.commands.values()])
        try:
            with warnings.catch_warnings(), unannounced() if silent else contextlib.nullcontext():
                warnings.showwarning = _warning_printer(options)
                with _visible_usage():
                    result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except (BrokenPipeError, CoREError) as error:
            if BrokenPipeError in (type(error), type(error.__cause__)):
                _close_standard_output()
                raise typer.Exit(0) from None
            say(name_options(" ".join(str(error).split()), options), "error")
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
    """A command whose help ends with an example, which the tests run.

    A parameter whose type is a dataclass is a group of options: the command line has one option
    for each of its fields, and the function gets them as one object.
    """
    epilog = f"Example:\n\n\b\n  {example}"

    def register(function: Callable[..., None]) -> Callable[..., None]:
        name = function.__name__.rstrip("_")
        app.command(name, epilog=epilog, help=inspect.getdoc(function))(_flattened(function))
        return function

    return register


def _flattened(function: Callable[..., None]) -> Callable[..., None]:
    """The same function with the fields of its groups of options as parameters of their own."""
    groups: dict[str, Any] = {}
    own: list[inspect.Parameter] = []
    grouped: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if dataclasses.is_dataclass(parameter.annotation):
            groups[name] = parameter.annotation
            grouped += inspect.signature(groups[name]).parameters.values()
        else:
            own.append(parameter)

    def call(**given: Any) -> None:
        for name, group in groups.items():
            fields = inspect.signature(group).parameters
            given[name] = group(**{field: given.pop(field) for field in fields})
        function(**given)

    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*own, *grouped)]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return call


def _warning_printer(options: dict[str, str]) -> Callable[..., None]:
    """A function that prints a warning without the line of code that raised it."""

    def show(message: Any, *rest: Any, **more: Any) -> None:
        say(name_options(" ".join(str(message).split()), options), "warning")

    return show


@contextlib.contextmanager
def _visible_usage() -> Iterator[None]:
    """Show control characters of the command line in errors about it."""
    try:
        yield
    except Exception as error:
        if hasattr(error, "format_message"):  # Typer has classes of its own, or Click's
            error.message = visible(error.message)  # type: ignore[attr-defined]
        raise


def _print_version(asked: bool) -> None:
    if asked:
        print(f"corekernels {corekernels.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version, and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Options that need no command."""


def _close_standard_output() -> None:
    """Keep the interpreter from complaining again when it flushes at its end."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
