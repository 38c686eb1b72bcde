"""Colours and markers: one for each name of a line, on light and on dark paper.

The five colours of the paper's kernels stay apart under the three kinds of colour blindness
(tests/test_paper_page.py measures it), and can be read as text on their paper; the markers
differ too, so that colour is never the only sign. Names that differ in a number alone
("k = 64", "k = 128", "k = 256") are a scale, and get a ramp in the order of the numbers.
"""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .layout import Figure

Points = tuple[tuple[float, float], ...]

# name of the CSS variable: (on light paper, on dark paper)
_SURFACES = {
    "paper": ("#fdfcfa", "#16181b"),
    "panel": ("#f5f3ee", "#1e2125"),
    "ink": ("#1d2025", "#e8e6e1"),
    "quiet": ("#5a606a", "#a7abb2"),
    "rule": ("#e2ded6", "#33373d"),
    "axis": ("#a8a59d", "#62676f"),
    "accent": ("#0b57a4", "#86bdf7"),
    "more": ("#0a5c9e", "#7fbcf5"),
    "less": ("#a8480a", "#f2a065"),
}
_SERIES = {
    "c0": ("#3d4149", "#d3d8e2"),  # linear
    "c1": ("#9a6612", "#e9b01e"),  # linear, binarised
    "c2": ("#10846c", "#1e9b79"),  # resemblance
    "c3": ("#0e4caf", "#76a5fe"),  # CoRE 1
    "c4": ("#a02005", "#ef5433"),  # CoRE 2
    "c5": ("#763e90", "#c46acb"),
    "c6": ("#3a7390", "#64cddb"),
    "c7": ("#566129", "#a3b371"),
    "c8": ("#ce3881", "#e987a9"),
    "c9": ("#5963dc", "#8677f8"),
}
_COOL = (
    ("#7f9a1f", "#3f6fd8"),
    ("#4d962f", "#2f8fd6"),
    ("#1f8a55", "#27a9c4"),
    ("#117a76", "#33c0a4"),
    ("#1a678c", "#5fd086"),
    ("#26509a", "#93dc6c"),
    ("#35389a", "#c3e55a"),
    ("#3d1f84", "#eaec62"),
    ("#350a5c", "#fdf6b0"),
)
_WARM = (
    ("#c97f12", "#b0459f"),
    ("#d26d1f", "#cc4f8c"),
    ("#cd5530", "#e05f76"),
    ("#c03f45", "#ee7562"),
    ("#ab2e5b", "#f58d53"),
    ("#91226f", "#f9a64d"),
    ("#731b78", "#fbc055"),
    ("#521674", "#fadb70"),
    ("#310f5e", "#fbf2a6"),
)
_RAMPS = ("cool", "warm")

THEMES: dict[str, tuple[str, str]] = {
    **_SURFACES,
    **_SERIES,
    **{f"cool{i}": pair for i, pair in enumerate(_COOL)},
    **{f"warm{i}": pair for i, pair in enumerate(_WARM)},
}
KNOWN = ("linear", "linear, binarised", "resemblance", "CoRE 1", "CoRE 2")


def _regular(corners: int, size: float, turn: float = 0.0, inner: float | None = None) -> Points:
    """Corners on a circle, the first at the top and then turned; with `inner`, a star."""
    n = corners if inner is None else 2 * corners
    radii = [size if inner is None or i % 2 == 0 else size * inner for i in range(n)]
    turns = [2 * math.pi * (i + turn) / n for i in range(n)]
    return tuple(
        (round(r * math.sin(t), 3), round(r * math.cos(t), 3))
        for r, t in zip(radii, turns, strict=True)
    )


MARKERS: tuple[Points, ...] = (  # sizes chosen so that all look equally large
    _regular(20, 1.0),
    _regular(4, 1.25, 0.5),
    _regular(3, 1.4),
    _regular(4, 1.3),
    _regular(3, 1.4, 1.5),
    _regular(5, 1.5, inner=0.45),
    _regular(4, 1.5, inner=0.36),
    _regular(3, 1.4, 0.75),
    _regular(4, 1.6, 1.0, inner=0.36),
    _regular(3, 1.4, 2.25),
    _regular(6, 1.15),
)


@dataclass(frozen=True)
class Look:
    """How the lines of one name are drawn."""

    colour: str  # a key of THEMES
    marker: Points

    @property
    def text(self) -> str:
        """The colour of words about these lines: a ramp's light end is too light for letters."""
        return "quiet" if self.colour.startswith(_RAMPS) else self.colour


def looks(figures: Iterable[Figure]) -> dict[str, Look]:
    """The look of each name in these figures; the five known names always look the same.

    >>> looks([])["CoRE 1"].colour
    'c3'
    """
    names = list(dict.fromkeys([*KNOWN, *_names(figures)]))
    ramps = _ramps([name for name in names if name not in KNOWN])
    found: dict[str, Look] = {}
    n_plain = 0
    for name in names:
        if name in ramps:
            found[name] = ramps[name]
        else:
            found[name] = Look(f"c{n_plain % len(_SERIES)}", MARKERS[n_plain % len(MARKERS)])
            n_plain += 1
    return found


def _names(figures: Iterable[Figure]) -> Iterator[str]:
    for figure in figures:
        for panel in figure.panels:
            yield from (line.name for line in panel.lines)
            yield from (mark.of for mark in panel.marks if mark.of is not None)


def _ramps(names: list[str]) -> dict[str, Look]:
    """Looks for the names that are steps of a scale: three or more that differ in one number."""
    families: dict[str, dict[str, float]] = {}
    for name in names:
        numbers = re.findall(r"\d+(?:\.\d+)?", name)
        if numbers:
            pattern = re.sub(r"\d+(?:\.\d+)?(?=\D*$)", "#", name)
            families.setdefault(pattern, {})[name] = float(numbers[-1])
    scales = [family for family in families.values() if len(family) >= 3]
    found = {}
    for i, family in enumerate(scales):
        ramp, steps = _RAMPS[i % len(_RAMPS)], sorted(family, key=family.__getitem__)
        for step, name in enumerate(steps):
            shade = round(step * (len(_COOL) - 1) / (len(steps) - 1))
            found[name] = Look(f"{ramp}{shade}", MARKERS[step % len(MARKERS)])
    return found
