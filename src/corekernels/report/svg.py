"""SVG as text: what matplotlib wrote made fit for a page, legends, figures as files."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from .layout import Figure
from .palette import THEMES, Look

FONTS = '-apple-system, "Segoe UI", Inter, Roboto, "Noto Sans", "Helvetica Neue", Arial, sans-serif'
_STAND_INS = {name: f"#a1b2{i:02x}" for i, name in enumerate(THEMES)}
_DASHES = {"dashed": "5 3", "dotted": "1.5 2.5"}
_PAGE = "#ffffff"  # of files, which stand on other people's pages
_KEY_WIDTH, _KEY_HEIGHT = 30, 12


@dataclass(frozen=True)
class Key:
    """One entry of a legend: a name and the ways its lines are drawn."""

    name: str
    colour: str
    marker: tuple[tuple[float, float], ...] | None
    styles: tuple[str, ...]


def stand_in(colour: str) -> str:
    """The hex colour matplotlib is given for a colour that the page's theme will decide."""
    return _STAND_INS[colour]


def tidy(text: str, prefix: str, title: str, label: str) -> str:
    """Matplotlib's SVG as an inline element: themed, named, with ids of its own and no size."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r'<style type="text/css">\*.*?</style>', "", text, flags=re.DOTALL)
    text = _own_ids(text, prefix)
    text = re.sub(r'( (?:d|transform|x|y|width|height)=")([^"]*)', _round, text)
    text = re.sub(r"'DejaVu Sans'", "var(--sans)", text)
    for name, colour in _STAND_INS.items():
        text = text.replace(colour, f"var(--{name})")
    box = re.search(r'viewBox="([^"]*)"', text)
    assert box is not None
    head = (
        f'<svg role="img" aria-label="{escape(label)}" viewBox="{box[1]}" '
        f'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
        f"<title>{escape(title)}</title>"
    )
    text = head + text[text.index(">") + 1 :]
    return re.sub(r"\s*\n\s*", "\n", text).strip()


def _own_ids(text: str, prefix: str) -> str:
    """Drop the ids nobody points at; put the prefix before the others."""
    used = dict.fromkeys(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    own = {old: f"{prefix}-{i}" for i, old in enumerate(used)}

    def rename(match: re.Match[str]) -> str:
        return f' id="{own[match[1]]}"' if match[1] in own else ""

    text = re.sub(r' id="([^"]+)"', rename, text)
    return re.sub(r'((?:href="#|url\(#))([^")]+)', lambda m: m[1] + own[m[2]], text)


def _round(match: re.Match[str]) -> str:
    """Hundredths of a pixel are enough, and do not differ between machines."""
    numbers = re.sub(r"-?\d+\.\d{3,}", lambda m: f"{float(m[0]):.2f}", match[2])
    return match[1] + re.sub(r"\s*\n\s*", "", numbers)


def legend(figure: Figure, looks: Mapping[str, Look]) -> list[Key]:
    """The entries of a figure's legend: its lines, then its marks, in order of appearance."""
    lines: dict[str, list[str]] = {}
    marks: dict[str, set[str | None]] = {}
    for panel in figure.panels:
        for line in panel.lines:
            lines.setdefault(line.name, []).append(line.style)
        for mark in panel.marks:
            marks.setdefault(mark.name, set()).add(mark.of)
    keys = []
    for name, styles in lines.items():
        look = looks[name]
        keys.append(Key(name, look.colour, look.marker, tuple(dict.fromkeys(styles))))
    for name, owners in marks.items():
        owner = owners.pop() if len(owners) == 1 else None
        keys.append(Key(name, looks[owner].colour if owner else "quiet", None, ("mark",)))
    return keys


def swatch(key: Key) -> str:
    """A short piece of the line, as the inside of an SVG of 30 × 12."""
    middle = _KEY_HEIGHT / 2
    paint = f"var(--{key.colour})"
    parts = []
    line_styles = [style for style in key.styles if style != "points"]
    for i, style in enumerate(line_styles):
        y = middle + 5 * (i - (len(line_styles) - 1) / 2)
        width, dash = (1, "3 2") if style == "mark" else (2, _DASHES.get(style, "none"))
        parts.append(
            f'<path d="M1 {y:g}H{_KEY_WIDTH - 1}" '
            f'style="fill:none;stroke:{paint};stroke-width:{width};stroke-dasharray:{dash}"/>'
        )
    if key.marker is not None and (len(line_styles) <= 1 or "points" in key.styles):
        corners = " ".join(f"{15 + 3.4 * x:.2f},{middle - 3.4 * y:.2f}" for x, y in key.marker)
        parts.append(f'<polygon points="{corners}" style="fill:{paint};stroke:none"/>')
    return "".join(parts)


def figure_file(figure: Figure, panels: Sequence[str], columns: int, keys: Sequence[Key]) -> str:
    """A figure as a file of its own, in light colours: the legend above, the panels below."""
    boxes = [re.search(r'viewBox="0 0 (\S+) (\S+)"', panel) for panel in panels]
    sizes = [(float(box[1]), float(box[2])) for box in boxes if box is not None]
    wide, high = max(w for w, _ in sizes), max(h for _, h in sizes)
    width = columns * wide + (columns - 1) * 18
    legend_text, top = _legend_rows(keys, width)
    parts = [f'<rect x="-16" y="-16" width="100%" height="100%" fill="{_PAGE}"/>']
    parts.append(legend_text)
    for i, panel in enumerate(panels):
        x, y = (i % columns) * (wide + 18), top + (i // columns) * (high + 14)
        at = f'<svg x="{x:g}" y="{y:g}" width="{sizes[i][0]:g}" height="{sizes[i][1]:g}"'
        parts.append(panel.replace("<svg", at, 1))
    rows = -(-len(panels) // columns)
    height = top + rows * high + (rows - 1) * 14
    frame = (width + 32, height + 32)
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'aria-label="{escape(figure.alt)}" width="{frame[0]:g}" height="{frame[1]:g}" '
        f'viewBox="-16 -16 {frame[0]:g} {frame[1]:g}">\n<title>{escape(figure.alt)}</title>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )
    text = text.replace("var(--sans)", FONTS.replace('"', "'"))
    text = text.replace("var(--paper)", _PAGE)
    return re.sub(r"var\(--(\w+)\)", lambda m: THEMES[m[1]][0], text)


def _legend_rows(keys: Sequence[Key], width: float) -> tuple[str, float]:
    """The legend in rows no wider than this, and the height it takes."""
    parts, x, y = [], 0.0, 0.0
    for key in keys:
        needs = _KEY_WIDTH + 6 + 6.6 * len(key.name)  # a generous letter at 12 px
        if x > 0 and x + needs > width:
            x, y = 0.0, y + 20
        parts.append(
            f'<g transform="translate({x:g} {y:g})">{swatch(key)}<text x="{_KEY_WIDTH + 6}" '
            f'y="10" style="font:12px var(--sans);fill:var(--ink)">{escape(key.name)}</text></g>'
        )
        x += needs + 18
    return "\n".join(parts), y + 30 if keys else 0.0
