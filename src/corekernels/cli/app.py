"""The application: commands, their errors and exit codes."""

import contextlib
import dataclasses
import importlib
import inspect
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import corekernels

from .._core.escaping import visible
from ..errors import CoREError
from .printing import STANDARD_OUTPUT, name_options, option_names, say

HELP = """CoRE kernels on files: exact kernels, hashing, learning, search, advice.

Rows come from svmlight text (plain or compressed), .npz, .npy or Parquet files, told apart by
their content; "-" is svmlight text from standard input. With --text COLUMN, rows are documents
from JSON lines, CSV, TSV, Parquet, plain text or a folder of text files. Results go to standard
output, everything else to standard error.

Exit codes: 0 success; 1 something unexpected; 2 bad input or usage; 130 interrupted.
"""


# the module of each command, which is imported when the command is called, and what it does
COMMANDS = {
    "info": ("files", "Describe a file, and suggest how to hash its rows."),
    "hash": ("files", "Hash rows into a signature file."),
    "train": ("learning", "Learn to predict labels."),
    "predict": ("learning", "Predict the labels of rows."),
    "evaluate": ("learning", "Score a model on labelled rows."),
    "path": ("learning", "Score models over a range of C."),
    "index": ("search", "Index rows for search."),
    "search": ("search", "Find the indexed rows most similar to others."),
    "dedup": ("dedup", "Find near-duplicate rows, and write the others."),
    "kernel": ("files", "Compute exact kernel values of all pairs of rows."),
    "estimate": ("files", "Estimate kernel values from signatures."),
    "plan": ("files", "Say how many hashes an error takes."),
    "advise": ("advice", "Say whether CoRE kernels help on labelled rows."),
    "frequencies": ("files", "Count n-grams, to weigh them by their rarity."),
    "convert": ("files", "Write rows in another format."),
    "warmup": ("warmup", "Compile all loops for this machine beforehand."),
    "version": ("files", "Name the versions of what this package stands on."),
}


class Commands(TyperGroup):
    """Errors raised on purpose become one line and exit code 2; closed pipes end quietly."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {
            name: TyperCommand(name, help=summary) for name, (_, summary) in COMMANDS.items()
        }

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        """The command that is called, with its options, and the arguments for it."""
        name, called, rest = super().resolve_command(ctx, args)
        if name is not None:
            _words[:] = args
            called = ctx.meta[_CALLED] = _whole_command(name)
        return name, called, rest

    def make_context(self, *arguments: Any, **more: Any) -> Any:
        """What the command line means."""
        with _ended_by_interrupt():
            return super().make_context(*arguments, **more)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take what stands before the command, and show it as it is in errors."""
        with _visible_usage():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""

        def in_options(message: object) -> str:
            makers = map(_whole_command, _MAKERS)
            return name_options(
                " ".join(str(message).split()), option_names([ctx.meta[_CALLED], *makers])
            )

        def show_warning(message: Any, *rest: Any, **more: Any) -> None:
            say(in_options(message), "warning")

        try:
            with warnings.catch_warnings(), _visible_usage(), _ended_by_interrupt():
                warnings.showwarning = show_warning
                result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except (BrokenPipeError, CoREError) as error:
            if BrokenPipeError in (type(error), type(error.__cause__)):
                _close_standard_output()
                raise typer.Exit(0) from None
            say(in_options(error), "error")
            raise typer.Exit(2) from None


_CALLED = f"{__name__}.called"  # the command that runs
_words: list[str] = []  # its name and its arguments
_MAKERS = ("hash", "train", "index")  # a remedy may be an option with which a file was made
_apps: dict[str, typer.Typer] = {}  # by the name of the command


def _whole_command(name: str) -> Any:
    """A command with its options."""
    importlib.import_module(f".{COMMANDS[name][0]}", __package__)
    return typer.main.get_command(_apps[name])


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
        _apps[name] = typer.Typer(add_completion=False, rich_markup_mode=None)
        register_command = _apps[name].command(name, epilog=epilog, help=inspect.getdoc(function))
        register_command(_flattened(function))
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

    def call(**arguments: Any) -> None:
        from .._loops.compilation import compiling_announced  # imports Numba

        for name, group in groups.items():
            fields = inspect.signature(group).parameters
            arguments[name] = group(**{field: arguments.pop(field) for field in fields})
        silent = arguments["output"].quiet or function.__name__ == "warmup"
        announced = contextlib.nullcontext() if silent else compiling_announced()
        with _ended_by_interrupt(arguments.get("target")), announced:
            function(**arguments)

    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*own, *grouped)]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return call


@contextlib.contextmanager
def _ended_by_interrupt(target: Any = None) -> Iterator[None]:
    """Let an interrupt from the keyboard say what is kept, and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        kept = None
        if target not in (None, STANDARD_OUTPUT):
            from ..io.job_folder import describe_unfinished  # its imports are there by now

            kept = describe_unfinished(target)
        if kept is None:
            say("interrupted; nothing is kept.", "error")
        else:
            words = ["corekernels", *_words]
            again = shlex.join([*words, *(["--resume"] if "--resume" not in words else [])])
            say(f"interrupted; kept are {kept}. To go on: {again}", "error")
        raise typer.Exit(130) from None


@contextlib.contextmanager
def _visible_usage() -> Iterator[None]:
    """Show control characters of the command line in errors about it."""
    try:
        yield
    except Exception as error:
        if hasattr(error, "format_message"):  # Typer has classes of its own, or Click's
            error.message = visible(error.message)  # type: ignore[attr-defined]
        raise


def _print_version(requested: bool) -> None:
    if requested:
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
