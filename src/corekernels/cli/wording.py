"""Messages of the library in the words of the command line: options, not Python arguments."""

import re
from collections.abc import Iterable
from typing import Any

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
    found: dict[str, str] = {}
    for command in commands:
        for parameter in command.params:
            options = [name for name in parameter.opts if name.startswith("--")]
            for option in options:
                found.setdefault(option[2:].replace("-", "_"), option)
            if options and parameter.name is not None:
                found.setdefault(parameter.name, options[0])
            for option in parameter.secondary_opts if options else ():
                found.setdefault(f"{options[0][2:].replace('-', '_')}=False", option)
        for name, other in _OTHER_NAMES.items():
            if other in found:
                found.setdefault(name, found[other])
    return found


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

    def option(found: re.Match[str]) -> str:
        text: str = options[found["name"]]
        return text

    message = re.sub(rf"^{name}(?=: (?:got|has|names|needs|None))", option, message)
    flag = rf"(?<![\w-]){name}=(?:True|False)\b"
    message = re.sub(flag, lambda found: options.get(found[0]) or option(found), message)
    message = re.sub(rf"(?<![\w-]){name}=(?=[\w'\"])", lambda found: f"{option(found)} ", message)
    advice = r"(?<=raise )|(?<=lower )|(?<=either )"
    message = re.sub(rf"(?:{advice}){name}\b", option, message)
    second = rf"(?P<first>--[\w-]+(?:,| or|, or lower|, or) ){name}\b"
    message = re.sub(second, lambda found: found["first"] + option(found), message)
    with_underscore = [other for other in longest_first if "_" in other]
    if with_underscore:
        names = rf"(?<![\w./-])(?P<name>{'|'.join(with_underscore)})(?![\w/-]|\.\w)"
        message = re.sub(names, option, message)
    return message
