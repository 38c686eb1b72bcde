"""An estimator as the lines of Python that make it."""

import inspect
from functools import partial
from operator import methodcaller
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.pipeline import FeatureUnion, Pipeline

Imports = set[tuple[str, str]]  # a module and a name in it, or a whole line and no name


def code_of(estimator: Any) -> str:
    """The imports and the expression that make an unfitted estimator.

    >>> import corekernels as ck
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MaxAbsScaler
    >>> print(code_of(make_pipeline(MaxAbsScaler(), ck.CoREClassifier("core2", C=10.0))))
    import corekernels as ck
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler
    <BLANKLINE>
    model = make_pipeline(MaxAbsScaler(), ck.CoREClassifier(kernel='core2', C=10))
    """
    imports: Imports = set()
    expression = _expression(estimator, imports)
    modules = sorted(line for line, name in imports if not name)
    sources = sorted({source for source, name in imports if name})
    for source in sources:
        names = sorted(name for where, name in imports if name and where == source)
        modules.append(f"from {source} import {', '.join(names)}")
    return "\n".join([*modules, "", f"model = {expression}"])


def _expression(value: Any, imports: Imports) -> str:
    if isinstance(value, Pipeline | FeatureUnion):
        parts = value.steps if isinstance(value, Pipeline) else value.transformer_list
        if len(parts) == 1:
            return _expression(parts[0][1], imports)
        maker = "make_pipeline" if isinstance(value, Pipeline) else "make_union"
        imports.add(("sklearn.pipeline", maker))
        return f"{maker}({', '.join(_expression(part, imports) for _, part in parts)})"
    if isinstance(value, BaseEstimator):
        return f"{_name(type(value), imports)}({', '.join(_arguments(value, imports))})"
    if isinstance(value, partial):
        imports.add(("functools", "partial"))
        keywords = ", ".join(f"{name}={v:g}" for name, v in value.keywords.items())
        return f"partial({_expression(value.func, imports)}, {keywords})"
    if isinstance(value, methodcaller):
        imports.add(("import operator", ""))
    if inspect.isfunction(value):
        return _name(value, imports)
    return f"{value:g}" if isinstance(value, float) else repr(value)


def _arguments(estimator: BaseEstimator, imports: Imports) -> list[str]:
    """The parameters that are not the defaults, but for threads."""
    defaults = inspect.signature(type(estimator)).parameters
    changed = {
        name: value
        for name, value in estimator.get_params(deep=False).items()
        if name != "n_jobs" and repr(value) != repr(defaults[name].default)
    }
    first = next(iter(defaults.values()))
    # the estimator in another one, or the function of a transformer, reads well without its name
    plain = first.name if first.kind is first.POSITIONAL_OR_KEYWORD else ""
    return [
        _expression(value, imports)
        if name == plain and not isinstance(value, str | int | float)
        else f"{name}={_expression(value, imports)}"
        for name, value in sorted(changed.items(), key=lambda item: list(defaults).index(item[0]))
    ]


def _name(thing: Any, imports: Imports) -> str:
    """What a class or function is called where it is public, which is noted as an import."""
    package, *rooms = thing.__module__.split(".")
    if package == "corekernels":
        imports.add(("import corekernels as ck", ""))
        return f"ck.{thing.__name__}"
    public = [package]
    for room in rooms:
        if room.startswith("_"):
            break
        public.append(room)
    imports.add((".".join(public), thing.__name__))
    return str(thing.__name__)
