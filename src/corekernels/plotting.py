"""Figures of what `linear.c_path` and `advise` found, by matplotlib (the extra `plot`)."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ._core.arguments import PathLike, require_extra
from .errors import ParameterError
from .io import atomic_write
from .io.atomic import require_target

_BAR = "▏▎▍▌▋▊▉█"
_BAR_WIDTH = 20
_FORMATS = (".png", ".svg", ".pdf")


def require_figure(path: PathLike, *others: PathLike) -> None:
    """Raise unless a figure can be drawn and written there: for use before long work.

    `others` are the files that are read, or written as well.
    """
    if Path(path).suffix.lower() not in _FORMATS:
        raise ParameterError(f"plot: got {os.fspath(path)!r}; end it in {', '.join(_FORMATS)}.")
    require_target(path, *others)
    require_extra("matplotlib", "plot", "figures")


def draw_c_path(path: Any) -> Any:
    """A figure of accuracy against C, with 95 % intervals, for what `linear.c_path` gave."""
    figure, axes = _new_figure()
    order = np.argsort(path.Cs)
    Cs, mean, error = path.Cs[order], path.mean[order], path.standard_error[order]
    axes.errorbar(Cs, mean, error, marker="o", capsize=3)
    axes.axvline(path.best_C, color="grey", linestyle=":")
    axes.set(xscale="log", xlabel="C", ylabel="accuracy")
    return figure


def draw_advice(advice: Any) -> Any:
    """A figure of the accuracy of each candidate, with 95 % intervals, for what `advise` gave."""
    figure, axes = _new_figure()
    names = [candidate.name for candidate in advice.candidates]
    means = np.array([candidate.accuracy for candidate in advice.candidates])
    errors = [candidate.margin for candidate in advice.candidates]
    places = np.arange(len(names))[::-1]
    axes.errorbar(means, places, xerr=errors, fmt="o", capsize=3)
    axes.axvline(means[0], color="grey", linestyle=":")
    axes.set_yticks(places, names)
    axes.set(xlabel="accuracy")
    return figure


def save_figure(figure: Any, path: PathLike) -> None:
    """Write a figure, whole or not at all; the name's ending says how, and no date is in it."""
    require_figure(path)
    ending = Path(path).suffix.lower()
    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(ending, {})
    with atomic_write(path) as file:
        figure.savefig(file, format=ending[1:], dpi=150, metadata=dates)


def text_bars(values: npt.ArrayLike) -> list[str]:
    """A bar for each value, from the lowest (one eighth of a block) to the highest.

    >>> text_bars([0.0, 0.5, 1.0])[0]
    '▏'
    """
    heights = np.asarray(values, float)
    span = heights.max() - heights.min()
    shares = (heights - heights.min()) / span if span > 0 else np.ones(len(heights))
    eighths = np.maximum(1, np.rint(shares * _BAR_WIDTH * 8)).astype(int)
    return [_BAR[-1] * (n // 8) + (_BAR[n % 8 - 1] if n % 8 else "") for n in eighths]


def _new_figure() -> tuple[Any, Any]:
    matplotlib = require_extra("matplotlib.figure", "plot", "figures")
    figure = matplotlib.Figure(figsize=(6.4, 4.0), layout="constrained")
    return figure, figure.subplots()
