"""Figures of the gallery, once for each theme; drawings that scroll on small screens."""

from pathlib import Path

import matplotlib.pyplot as plt
from docutils import nodes
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

STYLE = {
    "axes.axisbelow": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": "medium",
    "axes.titleweight": "bold",
    "figure.dpi": 100,
    "font.size": 10,
    "grid.color": "#8a8f98",
    "grid.linewidth": 0.6,
    "legend.framealpha": 0.9,
    "savefig.dpi": 160,
    "svg.fonttype": "path",
    "svg.hashsalt": "corekernels",
}
PAPER, INK = "#14181e", "#ced6dd"  # of the dark theme
ON_DARK = {"black": INK, "white": PAPER, "tab:blue": "#5fa8e8", "tab:gray": "#a0a4aa"}


def use_style(gallery_conf=None, name=None):
    """matplotlib's settings for one example."""
    plt.rcParams.update(STYLE)


def on_dark(colour):
    """The colour that stands for another one on dark paper."""
    *rgb, alpha = to_rgba(colour)
    for light, dark in ON_DARK.items():
        if tuple(rgb) == to_rgba(light)[:3]:
            return (*to_rgba(dark)[:3], alpha)
    return colour


def darken(figure):
    """What is black on white becomes light on dark; most colours of the data stay."""
    for axes in figure.axes:
        axes.tick_params(which="both", color=INK, labelcolor=INK)
    for artist in figure.findobj():
        if isinstance(artist, Text | Line2D):
            artist.set_color(on_dark(artist.get_color()))
        elif isinstance(artist, Patch):
            artist.set_edgecolor(on_dark(artist.get_edgecolor()))
            artist.set_facecolor(on_dark(artist.get_facecolor()))


def scrape(block, block_vars, gallery_conf):
    """All open figures as two images each, of which the theme shows one."""
    source = Path(gallery_conf["src_dir"])
    parts = []
    for number, path in zip(plt.get_fignums(), block_vars["image_path_iterator"], strict=False):
        figure = plt.figure(number)
        titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
        title = figure.get_suptitle() or "; ".join(titles)
        light, dark = Path(path), Path(path).with_stem(Path(path).stem + "_dark")
        figure.savefig(light)
        darken(figure)
        figure.savefig(dark, facecolor="none")
        for file, theme in ((light, "only-light"), (dark, "only-dark")):
            parts.append(
                f"\n.. image:: /{file.relative_to(source).as_posix()}\n"
                f"   :alt: {title}\n   :class: sphx-glr-single-img {theme}\n"
            )
    plt.close("all")
    return "\n".join(parts) + "\n"


def frame_drawings(app, doctree, name):
    """Every image alone in its paragraph, or in a frame of its own, which the style lets scroll."""
    for image in list(doctree.findall(nodes.image)):
        around = image.parent
        if isinstance(around, nodes.paragraph | nodes.figure) and len(around) == 1:
            around["classes"].append("drawing")
        elif not isinstance(around, nodes.TextElement):
            around.replace(image, nodes.container("", image.deepcopy(), classes=["drawing"]))


def setup(app):
    app.connect("doctree-resolved", frame_drawings)
    use_style()
    app.connect("builder-inited", lambda _: use_style())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
