"""The page of a report: well-formed, escaped, the same each time, and fit to be read."""

import base64
import re
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pytest

from corekernels.errors import MissingExtra, ParameterError
from corekernels.report import write_page
from corekernels.report.drawing import COLOURS, SURFACES, line_styles, svg
from corekernels.report.layout import Figure, Line, Mark, Panel, Report, Section, Table
from corekernels.report.page import html_page
from support.browser import find_browser, require_readable
from support.sample_report import METHODS, SIGN, sample_report

matplotlib = pytest.importorskip("matplotlib", reason="pages need the extra report")
pytest.importorskip("jinja2", reason="pages need the extra report")

needs_browser = pytest.mark.skipif(
    find_browser() is None, reason="needs chromium, chromium-browser or google-chrome"
)
VOID = {"meta", "link", "img"}
SVG = "{http://www.w3.org/2000/svg}"


class Tree(HTMLParser):
    """A page as a list of (tag, attributes) and of texts; all tags must close in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def page():
    return html_page(sample_report())


@pytest.fixture(scope="module")
def tree(page):
    return Tree(page)


def images(tree, theme):
    """The SVG images of a page in one theme."""
    found = [image["src"].split(",") for image in tree.all("img") if image["class"] == theme]
    assert {kind for kind, _ in found} == {"data:image/svg+xml;base64"}
    return [base64.b64decode(data).decode() for _, data in found]


def svg_texts(text):
    """The texts of an SVG image, with their heights."""
    texts = []
    for node in ET.fromstring(text).iter(f"{SVG}text"):
        height = node.get("y") or re.search(r"translate\(\S+ (\S+)\)", node.get("transform"))[1]
        texts.append(("".join(node.itertext()), float(height)))
    return texts


def drawn(lines, marks=(), **options):
    """The text of a figure of one panel."""
    figure = Figure("figure", "", "", [Panel("", "x", "y", lines, marks, **options)])
    return svg(figure)


def test_ids_are_unique_and_all_links_arrive(tree, page):
    ids = [attributes["id"] for _, attributes in tree.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="#|aria-labelledby=")([^"]+)"', page)) <= set(ids)


def test_each_figure_is_drawn_for_both_themes_and_described(tree):
    figures = sample_report().figures()
    assert [image["alt"] for image in tree.all("img")] == [f.alt for f in figures for _ in range(2)]
    for dark, theme in enumerate(("light", "dark")):
        for figure, text in zip(figures, images(tree, theme), strict=True):
            assert ET.fromstring(text).find(f"{SVG}title").text == figure.alt
            assert SURFACES["paper"][dark] in text
            assert not any(pair[not dark] in text for pair in SURFACES.values())


def test_control_characters_are_seen_not_done():
    name = "\x1b[31mred\x07\u2028"
    line = Line(name, [0, 1], [0, 1])
    figure = Figure("f", name, name, [Panel(name, "x", "y", [line], [Mark("level", 0.5, name)])])
    table = Table(name, [name, "b"], [[name, "1"]])
    report = Report(name, [name], [Section("s", name, [name], [table], [figure])])
    pages = [html_page(report), svg(figure)]
    for text in pages:
        assert not re.search("[\x00-\x09\x0b-\x1f\u2028]", text)
        assert r"\u001b[31mred\u0007" in text.replace("\\\\", "\\").replace("\\[", "[")
    ET.fromstring(pages[1])


def test_tables_have_captions_scopes_and_right_aligned_numbers(tree, page):
    assert len(tree.all("table")) == len(tree.all("caption")) == 1
    scopes = [attributes["scope"] for attributes in tree.all("th")]
    assert [scopes.count(kind) for kind in ("row", "col", "colgroup")] == [2, 16, 5]
    kinds = [attributes.get("class", "").split() for attributes in tree.all("td")]
    assert sum("number" in kind for kind in kinds) == 2 * 10
    assert '<td class="difference less">−1.3</td>' in page
    assert '<td class="difference more">+0.3</td>' in page
    assert '<td class="difference">+0.0</td>' in page  # no difference, no colour
    assert '<td class="number">−1.003</td>' in page  # a negative number is not a difference
    assert '<td class="number start">–</td>' in page


def test_headings_and_landmarks_are_in_order(tree):
    tags = [tag for tag, _ in tree.elements]
    assert [tag for tag in tags if re.fullmatch("h[1-6]", tag)] == ["h1", "h2", "h2", "h2", "h2"]
    landmarks = [tag for tag in tags if tag in ("header", "nav", "main", "footer")]
    assert landmarks == ["header", "nav", "main", "footer"]


def test_nothing_is_fetched_and_nothing_runs(tree, page):
    assert not tree.all("script")
    assert re.findall(r'(?:src|href)="(?!#|data:)[^"]*"|@import|url\(', page) == []
    for text in images(tree, "light"):
        assert re.findall(r'href="(?!#)(?!http://matplotlib)[^"]*"|@import|url\((?!#)', text) == []


def test_texts_are_escaped():
    panel = Panel(SIGN, SIGN, SIGN, [Line(SIGN, [1], [1])], [Mark(SIGN, 1.0)])
    table = Table(SIGN, [SIGN, SIGN], [[SIGN, SIGN]], groups=[(SIGN, 2)])
    figure = Figure("figure", SIGN, SIGN, [panel])
    section = Section("part", SIGN, [SIGN, f"`{SIGN}`"], [table], [figure], [SIGN], 1.0, SIGN)
    tree = Tree(html_page(Report(SIGN, [SIGN], [section], {SIGN: SIGN})))
    assert not tree.all("b")
    # title, h1, lead, contents, h2, text, code, caption, group, 2 columns, 2 cells, figure
    # caption, note, command, fact and its name
    assert tree.texts.count(SIGN) == 18
    for text in images(tree, "dark"):
        assert [one for one, _ in svg_texts(text)].count(SIGN) == 4  # title, both axes, legend


def test_the_readers_matplotlib_settings_change_nothing():
    text = drawn([Line("one", [1, 2], [1, 2])], [Mark("mark", 1.5, "one")])
    with matplotlib.rc_context({"lines.linewidth": 9, "font.family": "serif", "axes.grid": False}):
        assert drawn([Line("one", [1, 2], [1, 2])], [Mark("mark", 1.5, "one")]) == text


def test_numbers_at_the_axes_are_not_rounded():
    text = drawn([Line("one", [0.001, 0.002], [0.0125, 0.0135])])
    assert {"0.0012", "0.0128"} <= {one for one, _ in svg_texts(text)}


def test_lines_of_one_figure_differ_and_the_series_keep_their_colours():
    for names in (("a", "CoRE 2", "b"), ("linear", "f", "g", "h", "i", "j", "k", "l"), METHODS):
        lines = [Line(name, [1], [1]) for name in names]
        styles = line_styles(Figure("f", "", "", [Panel("", "", "", lines)]), METHODS)
        assert styles.keys() == set(names)
        assert len(set(styles.values())) == len(names)
        assert all(styles[name] == i for i, name in enumerate(METHODS) if name in names)


def test_marks_of_different_names_have_different_dashes():
    marks = [Mark("paper", 1.0, "one"), Mark("paper", 1.2), Mark("exact", 1.5), Mark("linear", 2.0)]
    text = drawn([Line("one", [1, 2], [1, 2])], marks)
    dashes = re.findall(r"stroke-dasharray: ([^;]+);", text)
    assert len(set(dashes)) == 3
    assert len(dashes) == 4 + 3  # the marks, and their entries in the legend


def _contrast(one, other):
    """The contrast ratio of the Web Content Accessibility Guidelines."""
    values = np.array([[int(hue[i : i + 2], 16) / 255 for i in (1, 3, 5)] for hue in (one, other)])
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    low, high = sorted(linear @ [0.2126, 0.7152, 0.0722])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_contrast_is_enough(theme):
    surfaces = {name: pair[theme] for name, pair in SURFACES.items()}
    texts = [surfaces[name] for name in ("ink", "quiet", "accent", "more", "less")]
    texts += [pair[theme] for pair in COLOURS]
    # the guidelines' AA for text
    assert all(_contrast(colour, surfaces["paper"]) >= 4.5 for colour in texts)


def test_odd_panels_are_drawn():
    nan = float("nan")
    panels = [
        Panel("nothing", "x", "y", [], log_x=True, log_y=True),
        Panel("one point", "x", "y", [Line("a", [3.0], [2.0])], log_x=True, log_y=True),
        Panel("level", "x", "y", [Line("a", [1, 2], [5, 5], [5, 5], [5, 5])], [Mark("m", 5)]),
        Panel("half a decade", "x", "y", [Line("a", [1, 2], [5, 6])], log_x=True, log_y=True),
        Panel("tiny", "x", "y", [Line("a", [1, 2], [5e-9, 6e-9])], [Mark("m", 5e-9)]),
        Panel("gaps", "x", "y", [Line("a", [1, 2, 3], [1, nan, 3])], [Mark("m", nan)]),
        Panel("日本語 $x$", "x", "y", [Line("a", [1, 10], [1e-9, 2e6])], log_y=True),
        Panel("zero on a log axis", "x", "y", [Line("a", [1, 10], [0, 2])], log_y=True),
    ]
    for same_y in (False, True):
        figure = Figure("figure", "", "", panels, same_y)
        assert "日本語 $x$" in [one for one, _ in svg_texts(svg(figure))]


ONE_LINE = Panel("", "x", "y", [Line("one", [1, 2], [1, 2])])


def small(panels=(ONE_LINE,)):
    """A report of one figure."""
    return Report("", [], [Section("part", "Part", figures=[Figure("figure", "", "", panels)])])


def test_what_cannot_be_shown_is_refused():
    for refused, message in (
        (lambda: html_page(small(panels=[])), "figure 'figure': has no panels"),
        (lambda: Line("a", [1], [1], style="wavy"), "line 'a': style: got 'wavy'; choose one of"),
        (lambda: Table("t", ["a", "b"], [["1"]]), "table 't': row 0 has 1 cells for 2 columns"),
        (lambda: Table("t", ["a"], [], groups=[("g", 2)]), "table 't': groups span 2 of 1 columns"),
    ):
        with pytest.raises(ParameterError, match=message):
            refused()


@pytest.mark.parametrize("package", ["matplotlib", "jinja2"])
def test_without_a_package_the_extra_is_named(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"{package}.*pip install 'corekernels\[report\]'"):
        html_page(small())


def test_a_page_is_the_same_each_time_and_a_failed_one_leaves_the_old_one(tmp_path):
    path = write_page(small(), tmp_path / "report.html")
    text = path.read_text(encoding="utf-8")
    assert html_page(small()) == text
    with pytest.raises(ParameterError):
        write_page(small(panels=[]), path)
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    assert path.read_text(encoding="utf-8") == text


@needs_browser
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_browser_shows_all_of_it(tmp_path, dark):
    require_readable(write_page(sample_report(), tmp_path / "report.html"), dark)
