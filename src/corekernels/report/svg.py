"""The SVG that matplotlib writes, less what a browser does not need: about three quarters remain.

A page holds every figure four times, so their size is that of the page.
"""

import re

_FONTS = "-apple-system,'Segoe UI',Inter,Roboto,'Noto Sans','Helvetica Neue',Arial,sans-serif"
_TAG = re.compile(r"(<[^>]*>)\s*")
_MARKERS = re.compile(r'<g([^>]*)>(<use [^>]*? style="([^"]*)"/>(?:<use [^>]*? style="\3"/>)*)</g>')
_NEEDLESS_GROUP = re.compile(r"<g/>|<g>(<[^/g][^<]*(?:/>|</text>))</g>")
_ID = re.compile(r' id="(\w{11})"')


def short_svg(text: str) -> str:
    """What matplotlib writes with `svg.fonttype` "none", shorter, and looking the same."""
    text = re.sub(r"^.*?(?=<svg)|<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = text.replace("</style>", f"text{{font-family:{_FONTS}}}</style>", 1)
    text = _TAG.sub(lambda tag: _short_tag(tag[1]), text)
    text = _MARKERS.sub(lambda group: _with_one_style(*group.groups()), text)
    while text != (shorter := _NEEDLESS_GROUP.sub(r"\1", text)):  # they lie within each other
        text = shorter
    for number, name in enumerate(dict.fromkeys(_ID.findall(text))):
        text = text.replace(name, f"{name[0]}{number}")
    return text + "\n"


def _short_tag(tag: str) -> str:
    for pattern, instead in (
        (r' transform="rotate\(-0 [^"]*"|(?<=<g) id="[^"]*"| xmlns:xlink="[^"]*"', ""),
        # the font is only to measure with; matplotlib 3.9 writes it as one property
        (r"font: (\d+) ([\d.]+px) 'DejaVu Sans', sans-serif", r"font-weight: \1; font-size: \2"),
        (r"font: ([\d.]+px) 'DejaVu Sans', sans-serif", r"font-size: \1"),
        (r"font-family: 'DejaVu Sans', sans-serif;", ""),
        (r"(<use .*?); stroke: [^\"]*", r"\1"),  # what is used has it
        (r" xlink:href", " href"),
        (r"(?<=[:;]) |\s*\n\s*", ""),
        (r"(?<=[\"\dz])([MLCQ]) (?=[-\d])", r"\1"),  # of paths
    ):
        tag = re.sub(pattern, instead, tag)
    # hundredths are enough, and do not differ between machines
    return re.sub(r"\d+\.\d{3,}", lambda number: f"{round(float(number[0]), 2):g}", tag)


def _with_one_style(attributes: str, markers: str, style: str) -> str:
    """A group of markers of one style, which the group has instead of each of them."""
    return f'<g{attributes} style="{style}">' + markers.replace(f' style="{style}"', "") + "</g>"
