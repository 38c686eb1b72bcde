"""What commands print: results as lines, tables or JSON."""

import json
import math
import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .._core.escaping import count, visible

if TYPE_CHECKING:
    from ..io.atomic import Target

# arguments that are options under another name
_OTHER_NAMES = {
    "random_state": "seed", "n_checked": "check", "n_rows": "rows", "n_nearest": "nearest",
    "class_weight": "balanced", "sizes": "size", "batch_rows": "shard_rows", "test": "validation",
    "output": "proba",
}  # fmt: skip


def option_names(commands: Iterable[Any]) -> dict[str, str]:
    """The option that each argument of the library is, by the first command that has it.

    Where False has an option of its own, that is the one of `name=False`.
    """
    options: dict[str, str] = {}
    for command in commands:
        for parameter in command.params:
            names = [name for name in parameter.opts if name.startswith("--")]
            for name in names:
                options.setdefault(name[2:].replace("-", "_"), name)
            if names and parameter.name is not None:
                options.setdefault(parameter.name, names[0])
            for name in parameter.secondary_opts if names else ():
                options.setdefault(f"{names[0][2:].replace('-', '_')}=False", name)
        for argument, other in _OTHER_NAMES.items():
            if other in options:
                options.setdefault(argument, options[other])
    return options


def name_options(message: str, options: dict[str, str]) -> str:
    """A message in which arguments are named as options.

    >>> options = {"n_hashes": "--n-hashes", "error": "--error", "tol": "--tol"}
    >>> name_options("n_hashes: got 0; give 1 or more.", options)
    '--n-hashes: got 0; give 1 or more.'
    >>> name_options("plan: give either error or n_hashes.", options)
    'plan: give either --error or --n-hashes.'
    >>> name_options("the gap is too large for tol=1e-5: raise tol.", options)
    'the gap is too large for --tol 1e-5: raise --tol.'
    """
    if not options:
        return message
    longest_first = sorted(options, key=len, reverse=True)
    name = rf"(?P<name>{'|'.join(map(re.escape, longest_first))})"

    def option(match: re.Match[str]) -> str:
        return options[match["name"]]

    message = re.sub(rf"^{name}(?=: (?:got|has|names|needs|None))", option, message)
    flag = rf"(?<![\w-]){name}=(?:True|False)\b"
    message = re.sub(flag, lambda match: options.get(match[0]) or option(match), message)
    message = re.sub(rf"(?<![\w-]){name}=(?=[\w'\"])", lambda match: f"{option(match)} ", message)
    advice = r"(?<=raise )|(?<=lower )|(?<=either )"
    message = re.sub(rf"(?:{advice}){name}\b", option, message)
    second = rf"(?P<first>--[\w-]+(?:,| or|, or lower|, or) ){name}\b"
    message = re.sub(second, lambda match: match["first"] + option(match), message)
    with_underscore = [other for other in longest_first if "_" in other]
    if with_underscore:
        names = rf"(?<![\w./-])(?P<name>{'|'.join(with_underscore)})(?![\w/-]|\.\w)"
        message = re.sub(names, option, message)
    return message


STANDARD_OUTPUT = "-"
_BAR = "▏▎▍▌▋▊▉█"
_BAR_WIDTH = 20


def to_write(target: str) -> "Target":
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
    from rich.console import Console  # on use, as they take longer than most of a command
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="")
    for number, name in enumerate(columns):
        left = number == 0 or not name  # names and bars, not numbers
        table.add_column(name, justify="left" if left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*map(visible, row))
    width = None if sys.stdout.isatty() else 200
    Console(width=width, highlight=False, markup=False, emoji=False).print(table)


def text_bars(values: Sequence[float]) -> list[str]:
    """A bar for each value, from the lowest (one eighth of a block) to the highest.

    >>> text_bars([0.0, 0.5, 1.0])[0]
    '▏'
    """
    least, span = min(values), max(values) - min(values)
    shares = [(value - least) / span if span > 0 else 1.0 for value in values]
    eighths = [max(1, round(share * _BAR_WIDTH * 8)) for share in shares]
    return [_BAR[-1] * (n // 8) + (_BAR[n % 8 - 1] if n % 8 else "") for n in eighths]


def in_words(value: Any) -> str:
    """A value as people read it."""
    value = _of_python(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return count(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    return "-" if value is None else str(value)


def plain(value: Any) -> Any:
    """What JSON can hold of a value: no NaN, no arrays, no paths."""
    value = _of_python(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _of_python(value: Any) -> Any:
    """NumPy's arrays and numbers as lists and numbers of Python."""
    return value.tolist() if hasattr(value, "tolist") else value
