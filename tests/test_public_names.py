"""Public names are the intended ones, and the documentation has all of them."""

import dataclasses
import importlib
import inspect
import re
from pathlib import Path

import corekernels as ck

ROOMS = (
    "documents", "errors", "files", "io", "linear", "neighbors", "report", "text",
    "theory",
)  # fmt: skip
API = Path(__file__).parent.parent / "docs/api/index.rst"


def public_values():
    """Every public name, in full, and what it means; modules aside."""
    found = {f"corekernels.{name}": getattr(ck, name) for name in ck.__all__}
    for room in ROOMS:
        module = importlib.import_module(f"corekernels.{room}")
        names = getattr(module, "__all__", None) or [n for n in vars(module) if n[0] != "_"]
        found |= {f"corekernels.{room}.{name}": getattr(module, name) for name in names}
    return {name: value for name, value in found.items() if not inspect.ismodule(value)}


def listed_in_api():
    """The names that the index of the API has, in full."""
    listed, module = set(), ""
    for line in API.read_text("utf-8").splitlines():
        if found := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = found[1]
        elif found := re.match(r"   ([A-Za-z]\w*)$|\.\. py:data:: (\w+)$", line):
            listed.add(f"{module}.{found[1] or found[2]}")
    return listed


def test_api_pages_have_every_public_name():
    values, listed = public_values(), listed_in_api()
    known = [values[name] for name in listed if name in values]
    missing = [
        name
        for name, value in values.items()
        if name not in listed and not any(value is one for one in known)  # in two modules
    ]
    assert not missing
    assert listed <= set(values)


def is_record(value):
    """Whether a value is a class of results: the functions that return one have the example."""
    return dataclasses.is_dataclass(value) or (inspect.isclass(value) and issubclass(value, tuple))


def test_functions_and_estimators_have_an_example():
    without = [
        name
        for name, value in public_values().items()
        if inspect.isroutine(value) or (inspect.isclass(value) and not is_record(value))
        if ">>>" not in value.__doc__
    ]
    assert not without


def test_public_names_are_the_intended_ones():
    assert sorted(ck.__all__) == [
        "CoREClassifier",
        "CoREError",
        "CoREHasher",
        "CoRENeighbors",
        "CoRENeighborsTransformer",
        "CoRERegressor",
        "Kernel",
        "Levels",
        "Plan",
        "Recipe",
        "Signatures",
        "advise",
        "concatenate",
        "core1",
        "core2",
        "core_rbf",
        "correlation",
        "deduplicate",
        "documents",
        "errors",
        "files",
        "gram",
        "gram_chunks",
        "gram_to_file",
        "io",
        "linear",
        "load_model",
        "neighbors",
        "plan",
        "report",
        "resemblance",
        "text",
        "theory",
    ]
    assert all(hasattr(ck, name) for name in ck.__all__)
