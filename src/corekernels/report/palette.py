"""Colours and markers: one pair for each name of a line, on light and on dark paper.

The first five colours stay apart under the three kinds of colour blindness, and all ten can be read
as text; markers differ too, so that colour is never the only sign. Names that differ in a number
alone ("k = 64", "k = 128", "k = 256") are a scale: they get a ramp of colours in the order of the
numbers, and open markers.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .layout import Figure

# name: (on light paper, on dark paper)
SURFACES = {
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


def _pairs(light: str, dark: str) -> list[tuple[str, str]]:
    return list(zip(light.split(), dark.split(), strict=True))


SERIES = _pairs(
    "#3d4149 #9a6612 #10846c #0e4caf #a02005 #763e90 #3a7390 #566129 #ce3881 #5963dc",
    "#d3d8e2 #e9b01e #1e9b79 #76a5fe #ef5433 #c46acb #64cddb #a3b371 #e987a9 #8677f8",
)
RAMP = _pairs(
    "#7f9a1f #4d962f #1f8a55 #117a76 #1a678c #26509a #35389a #3d1f84 #350a5c",
    "#3f6fd8 #2f8fd6 #27a9c4 #33c0a4 #5fd086 #93dc6c #c3e55a #eaec62 #fdf6b0",
)
# as matplotlib names them
SERIES_MARKERS, STEP_MARKERS = "os^DvPX*<>", "os^Dv<>ph"


@dataclass(frozen=True)
class Look:
    """How the lines of one name are drawn."""

    colours: tuple[str, str]  # on light and on dark paper
    marker: str
    is_step: bool = False  # of a ramp: with open markers


def assign_looks(figures: Sequence[Figure], series: Sequence[str] = ()) -> dict[str, Look]:
    """The look of each name in these figures; names in `series` take the first colours.

    Names in one figure share a colour only if they are more than there are colours.

    >>> assign_looks([], ["ours", "theirs"])["theirs"].marker
    's'
    """
    groups = [figure.line_names() for figure in figures]
    names = dict.fromkeys([*series, *(name for group in groups for name in group)])
    ramps = _ramps(name for name in names if name not in series)
    chosen: dict[str, int] = {}
    for name in names:
        if name in series:
            chosen[name] = len(chosen) % len(SERIES)
        elif name not in ramps:
            beside = {chosen.get(other) for group in groups if name in group for other in group}
            uses = Counter(chosen.values())
            rank = [(i in beside, i < len(series), uses[i], i) for i in range(len(SERIES))]
            chosen[name] = min(rank)[-1]
    return ramps | {name: Look(SERIES[i], SERIES_MARKERS[i]) for name, i in chosen.items()}


def _ramps(names: Iterable[str]) -> dict[str, Look]:
    """Looks for the names that are steps of a scale: three or more that differ in one number."""
    scales: dict[str, dict[str, float]] = {}
    for name in names:
        if number := re.search(r"\d+(?:\.\d+)?(?=\D*$)", name):
            pattern = name[: number.start()] + "#" + name[number.end() :]
            scales.setdefault(pattern, {})[name] = float(number[0])
    looks = {}
    for scale in (scale for scale in scales.values() if len(scale) >= 3):
        for step, name in enumerate(sorted(scale, key=scale.__getitem__)):
            colours = RAMP[round(step * (len(RAMP) - 1) / (len(scale) - 1))]
            looks[name] = Look(colours, STEP_MARKERS[step % len(STEP_MARKERS)], is_step=True)
    return looks
