"""Where things stand in a figure: sizes, margins, titles in lines, labels moved apart."""

import math
import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import ParameterError
from .layout import Figure, Mark, Panel
from .ticks import same_decimals

_DIGIT = 0.64  # em; digits of the widest of the usual fonts
_BOLD = 0.62  # em; letters of a title, on average


class Size(NamedTuple):
    """Pixels of a panel; the fewer in a row, the larger."""

    width: float
    height: float
    font: float

    @property
    def title(self) -> float:
        """The size of the title's letters."""
        return self.font + 1.5


SIZES = {
    1: Size(430, 295, 12.5),
    2: Size(400, 270, 12),
    3: Size(340, 240, 11),
    4: Size(290, 220, 11),
}


def n_columns(figure: Figure) -> int:
    """How many panels stand in a row on a wide screen."""
    n = len(figure.panels)
    if figure.columns is not None:
        if figure.columns not in SIZES:
            raise ParameterError(f"{figure.name}: columns {figure.columns}; give 1 to 4.")
        return figure.columns
    return 1 if n == 1 else 3 if n % 3 == 0 or n > 4 else 2


class Margins(NamedTuple):
    """Pixels around the axes, the same for all panels of a figure, so that they line up."""

    left: float
    right: float
    top: float
    bottom: float


def margins(panels: Sequence[Panel], axes: Sequence[Any], size: Size) -> Margins:
    """Room for tick labels, for the values of marks and for the titles."""
    left = max(_tick_room(one, size) for one in axes)
    right = max(_mark_room(panel, size) for panel in panels)
    lines = max(len(title_lines(panel, size)) for panel in panels)
    return Margins(left, right, size.font + 23 + 1.2 * size.title * lines, 2 * size.font + 18)


def title_lines(panel: Panel, size: Size) -> list[str]:
    """The title, in as many lines as it needs."""
    return textwrap.wrap(panel.title, int(size.width / (_BOLD * size.title))) or [""]


def _tick_room(axes: Any, size: Size) -> float:
    """Pixels that the tick labels at the left may need."""
    axis = axes.yaxis
    low, high = sorted(axis.get_view_interval())
    shown = [place for place in axis.get_majorticklocs() if low <= place <= high]
    labels = axis.get_major_formatter().format_ticks(shown)
    return _DIGIT * size.font * max((len(label) for label in labels), default=1) + 6


def _mark_room(panel: Panel, size: Size) -> float:
    longest = max((len(text) for text in mark_texts(finite(panel.marks))), default=0)
    return _DIGIT * size.font * longest + (8 if longest else 16)


def place(axes: Any, size: Size, around: Margins) -> None:
    """Set the axes into their margins, and what is written above them at the very left."""
    wide = size.width - around.left - around.right
    high = size.height - around.top - around.bottom
    axes.set_position(
        (
            around.left / size.width,
            around.bottom / size.height,
            wide / size.width,
            high / size.height,
        )
    )
    for text in axes.texts:
        text.xyann = (-around.left, text.xyann[1])


def mark_texts(marks: Sequence[Mark]) -> list[str]:
    """The values of marks, with equal decimals."""
    return same_decimals(mark.y for mark in marks)


def finite(marks: Sequence[Mark]) -> list[Mark]:
    """The marks that have a place; a value that is not known has none."""
    return [mark for mark in marks if math.isfinite(mark.y)]


def apart(wanted: Sequence[float], gap: float, top: float) -> list[float]:
    """Places at least `gap` from each other, near the wanted ones and, if they fit, below `top`."""
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    blocks: list[list[int]] = []

    def start(block: list[int]) -> float:
        middle = sum(wanted[i] for i in block) / len(block)
        span = gap * (len(block) - 1)
        return max(0.0, min(middle - span / 2, top - span))

    for i in order:
        blocks.append([i])
        while len(blocks) > 1 and start(blocks[-1]) < start(blocks[-2]) + gap * len(blocks[-2]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    places = {i: start(block) + gap * at for block in blocks for at, i in enumerate(block)}
    return [places[i] for i in range(len(wanted))]
