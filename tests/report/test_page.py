"""The page of a report: well-formed, escaped, the same each time, and fit to be read."""

import dataclasses
import itertools
import re
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pytest

from corekernels.errors import ParameterError
from corekernels.report.drawing import draw_file, draw_panels
from corekernels.report.layout import Figure, Line, Mark, Panel, Report, Section, Table
from corekernels.report.markdown import markdown_page, write_markdown
from corekernels.report.page import html_page, write_page
from corekernels.report.palette import THEMES, looks
from corekernels.report.writing import write_report
from support.browser import find_browser, look_at, print_to_pdf, require_readable
from support.sample_report import METHODS, sample_report

pytest.importorskip("matplotlib", reason="figures need the extra plot")

needs_browser = pytest.mark.skipif(
    find_browser() is None, reason="needs chromium, chromium-browser or google-chrome"
)
VOID = {"meta", "link", "br", "hr", "img", "input"}


class Tree(HTMLParser):
    """A page as a list of (tag, attributes, tags around it), all of which must close in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), tuple(self.open)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), tuple(self.open)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((data, tuple(self.open)))

    def all(self, tag):
        return [attributes for name, attributes, _ in self.elements if name == tag]


@pytest.fixture(scope="module")
def report():
    return sample_report()


@pytest.fixture(scope="module")
def page(report):
    return html_page(report)


@pytest.fixture(scope="module")
def tree(page):
    return Tree(page)


@pytest.fixture(scope="module")
def file(page, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page, encoding="utf-8")
    return path


def small(**changes):
    """A report of one figure; changes are the figure's."""
    panel = Panel("title", "x", "y", [Line("one", [1, 2, 3], [1, 2, 3])])
    figure = dataclasses.replace(Figure("figure", "caption", "alt", [panel]), **changes)
    return Report("Title", ["Lead."], [Section("part", "Part", figures=[figure])])


def test_ids_are_unique_and_all_links_arrive(tree, page):
    ids = [attributes["id"] for _, attributes, _ in tree.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    pointers = re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)|aria-labelledby="([^"]+)"', page)
    assert {one for found in pointers for one in found if one} <= set(ids)


def test_each_drawing_has_a_title_and_a_label(tree):
    drawings = [a for a in tree.all("svg") if a.get("role") == "img"]
    titles = [around for tag, _, around in tree.elements if tag == "title" and "svg" in around]
    assert len(drawings) == len(titles) == 6 + 1 + 2 + 12
    assert all(a["aria-label"] for a in drawings)
    assert all(a.get("aria-hidden") == "true" for a in tree.all("svg") if a.get("role") != "img")


def test_tables_have_captions_scopes_and_right_aligned_numbers(tree):
    assert len(tree.all("table")) == len(tree.all("caption")) == 2
    assert {a["scope"] for a in tree.all("th")} == {"row", "col", "colgroup"}
    assert len([a for a in tree.all("th") if a["scope"] == "row"]) == 6 + 2
    assert len([a for a in tree.all("td") if "number" in a.get("class", "")]) == 6 * 15 + 2 * 3


def test_headings_and_landmarks_are_in_order(tree):
    tags = [tag for tag, _, _ in tree.elements]
    assert [t for t in tags if re.fullmatch("h[1-6]", t)] == ["h1", "h2", "h2", "h2", "h2", "h2"]
    landmarks = [t for t in tags if t in ("header", "nav", "main", "footer")]
    assert landmarks == ["header", "nav", "main", "footer"]
    assert tree.all("html") == [{"lang": "en"}]


def test_nothing_is_fetched_and_nothing_runs(tree, page):
    assert not tree.all("script")
    assert not tree.all("img")
    assert re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', page) == []
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)


def test_texts_are_escaped():
    sign = """<b>&amp;"quoted"'</b>"""
    panel = Panel(sign, sign, sign, [Line(sign, [1], [1])], [Mark(sign, 1.0)])
    section = Section(
        "part",
        sign,
        [sign, f"`{sign}`"],
        [Table(sign, [sign, sign], [[sign, sign]], groups=[(sign, 2)])],
        [Figure("figure", sign, sign, [panel])],
        [sign],
        1.0,
        sign,
    )
    tree = Tree(html_page(Report(sign, [sign], [section], {sign: sign})))
    assert not tree.all("b")
    assert len([text for text, _ in tree.texts if text == sign]) >= 18
    assert sign in [a.get("aria-label") for a in tree.all("svg")]


def test_differences_carry_their_sign_as_text(page):
    assert '<span class="less">−1.3</span>' in page
    assert '<span class="more">+0.3</span>' in page
    assert ">+0.0</td>" in page  # no difference, no colour
    assert '<td class="number">−1.003</td>' in page  # a negative number is not a difference
    assert '<td class="number">–</td>' in page


def test_the_same_report_gives_the_same_bytes(report, page, tmp_path):
    again = [write_report(sample_report(), tmp_path / name) for name in ("one", "two")]
    assert again[0][0].read_text(encoding="utf-8") == page
    for first, second in zip(*again, strict=True):
        assert first.read_bytes() == second.read_bytes()
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == [
        "figures",
        "report.html",
        "report.md",
    ]


def test_colours_are_left_to_the_theme(report):
    figures = [figure for section in report.sections for figure in section.figures]
    for figure in figures:
        for text in draw_panels(figure, looks(figures)):
            assert not re.search(r"#[0-9a-f]{6}", text)
            assert "DejaVu" not in text
            assert "<metadata" not in text


def test_figure_files_stand_alone(report):
    figures = [figure for section in report.sections for figure in section.figures]
    for figure in figures:
        text = draw_file(figure, looks(figures))
        root = ET.fromstring(text)
        assert root.find("{http://www.w3.org/2000/svg}title").text == figure.alt
        assert "var(" not in text
        ids = re.findall(r' id="([^"]+)"', text)
        assert len(ids) == len(set(ids))


def test_known_names_keep_their_colours_and_scales_get_ramps():
    lines = [Line(name, [1], [1]) for name in ("k = 256", "other", "CoRE 2", "k = 64", "k = 128")]
    look = looks([Figure("f", "", "", [Panel("", "", "", lines)])])
    assert [look[name].colour for name in METHODS] == ["c0", "c1", "c2", "c3", "c4"]
    assert look["other"].colour == "c5"
    ramp = [look[f"k = {k}"] for k in (64, 128, 256)]
    assert [one.colour for one in ramp] == ["cool0", "cool4", "cool8"]
    assert len({one.marker for one in ramp}) == 3


def _linear(colour):
    """Linear RGB of a hex colour, after the sRGB standard."""
    c = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def _contrast(one, other):
    """The contrast ratio of the Web Content Accessibility Guidelines."""
    low, high = sorted(float(_linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_contrast_is_enough(theme):
    colours = {name: pair[theme] for name, pair in THEMES.items()}
    texts = ["ink", "quiet", "accent", "more", "less", *(f"c{i}" for i in range(10))]
    # the guidelines' AA: 4.5 for text, 3 for drawings
    assert all(_contrast(colours[name], colours["paper"]) >= 4.5 for name in texts)
    assert all(_contrast(colours[name], colours["panel"]) >= 4.5 for name in ("ink", "quiet"))
    ramps = [name for name in colours if name.startswith(("cool", "warm"))]
    assert all(_contrast(colours[name], colours["paper"]) >= 3 for name in ramps)


# what a linear RGB colour becomes without red, green or blue cones (Machado et al., 2009)
BLIND = [
    [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.052],
    ],
    [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
    [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.3039],
    ],
]
LMS = [[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.63]]
OKLAB = [[0.2105, 0.7936, -0.0041], [1.978, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]]


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("cones", BLIND, ids=["no red", "no green", "no blue"])
def test_the_known_names_stay_apart_for_the_colour_blind(theme, cones):
    seen = [np.clip(cones @ _linear(THEMES[f"c{i}"][theme]), 0, 1) for i in range(5)]
    places = [OKLAB @ np.cbrt(LMS @ colour) for colour in seen]
    # 0.02 in Oklab is a difference just noticed side by side
    assert all(np.linalg.norm(a - b) > 4 * 0.02 for a, b in itertools.combinations(places, 2))


def test_odd_panels_are_drawn():
    nan = float("nan")
    panels = [
        Panel("nothing", "x", "y", [], log_x=True, log_y=True),
        Panel("one point", "x", "y", [Line("a", [3.0], [2.0])]),
        Panel("one on log axes", "x", "y", [Line("a", [3.0], [2.0])], log_x=True, log_y=True),
        Panel("level", "x", "y", [Line("a", [1, 2], [5, 5], [5, 5], [5, 5])], [Mark("m", 5)]),
        Panel("half a decade", "x", "y", [Line("a", [1, 2], [5, 6])], log_x=True, log_y=True),
        Panel("tiny", "x", "y", [Line("a", [1, 2], [5e-9, 6e-9])], [Mark("m", 5e-9)]),
        Panel("gaps", "x", "y", [Line("a", [1, 2, 3], [1, nan, 3])], [Mark("m", nan)]),
        Panel("日本語 $x$", "x", "y", [Line("a", [1, 10], [1e-9, 2e6])], log_y=True),
        Panel("zero on a log axis", "x", "y", [Line("a", [1, 10], [0, 2])], log_y=True),
    ]
    for same_y in (False, True):
        tree = Tree(html_page(small(panels=panels, same_y=same_y)))
    assert "日本語 $x$" in [text for text, _ in tree.texts]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "a/b"}, "a/b"),
        ({"name": ""}, "name ''"),
        ({"columns": 5}, "columns 5"),
        ({"panels": []}, "without panels"),
        ({"panels": [Panel("", "", "", [Line("a", [1], [1], style="wavy")])]}, "wavy"),
    ],
)
def test_what_cannot_be_shown_is_refused(changes, message):
    with pytest.raises(ParameterError, match=message):
        html_page(small(**changes))


def test_names_twice_and_rows_of_the_wrong_length_are_refused():
    section = Section("part", "Part")
    with pytest.raises(ParameterError, match="two are named 'part'"):
        html_page(Report("", [], [section, section]))
    for table in (Table("t", ["a", "b"], [["1"]]), Table("t", ["a"], [], groups=[("g", 2)])):
        for write in (html_page, markdown_page):
            with pytest.raises(ParameterError, match="table 't'"):
                write(Report("", [], [Section("part", "Part", tables=[table])]))


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ParameterError, match=r"pip install 'corekernels\[plot\]'"):
        html_page(small())


def test_a_failed_page_leaves_the_old_one(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(ParameterError):
        write_page(small(name="?"), path)
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    assert path.read_text() == "old"


def test_markdown_says_the_same(report, tmp_path):
    files = write_markdown(report, tmp_path / "results.md", figures="drawn")
    text = files[-1].read_text(encoding="utf-8")
    for section in report.sections:
        assert f"## {section.title}" in text
        assert f"](#{section.name})" in text
        assert section.command in text
    images = re.findall(r"!\[[^]]+\]\(([^)]+)\)", text)
    assert [tmp_path / image for image in images] == files[:-1]
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert "| data set | linear: paper | linear: ours | linear: diff. |" in rows[0]
    assert {row.count(" | ") for row in rows[:8]} == {15}
    assert "Rand \\<noise\\> & more" in text
    assert "| seed | 0 |" in text


def test_markdown_signs_mean_nothing():
    text = markdown_page(
        Report("*a*", ["# no heading", "1. no list", "a | b `c | d` _e_ &amp; <b>"], [])
    )
    assert text.splitlines()[0] == "# \\*a\\*"
    assert "\n\\# no heading\n" in text
    assert "\n1\\. no list\n" in text
    assert "one \\` alone" in markdown_page(Report("", ["one ` alone"], []))
    assert "a \\| b `c \\| d` \\_e\\_ &amp;amp; \\<b\\>" in text


@needs_browser
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_browser_shows_all_of_it(file, width, dark):
    seen = require_readable(file, width, dark)
    assert len(seen.figures) > 20
    paper = THEMES["paper"][dark]
    assert seen.background == f"rgb({', '.join(str(int(paper[i : i + 2], 16)) for i in (1, 3, 5))})"


@needs_browser
def test_the_browser_would_tell(tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<!DOCTYPE html><figure></figure><img src=missing.png>"
        "<p style='width:900px'>wide</p><script>1</script>"
    )
    seen = look_at(bad, 390)
    assert seen.scroll_width > 390
    assert "P." in seen.too_wide
    assert any("missing.png" in line for line in seen.console)
    assert any("script" in line for line in seen.console)
    assert seen.figures[0]["height"] == 0
    with pytest.raises(AssertionError):
        require_readable(bad, 390)


@needs_browser
def test_it_prints(file, tmp_path):
    print_to_pdf(file, tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
