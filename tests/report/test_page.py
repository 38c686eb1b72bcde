"""The page of a report: well-formed, escaped, the same each time, and fit to be read."""

import base64
import dataclasses
import itertools
import re
import sys
import xml.etree.ElementTree as ET
import zlib
from html.parser import HTMLParser

import numpy as np
import pytest

from corekernels.errors import MissingExtra, ParameterError
from corekernels.report import (
    Figure,
    Line,
    Mark,
    Panel,
    Report,
    Section,
    Table,
    html_page,
    markdown_page,
    write_markdown,
    write_page,
    write_report,
)
from corekernels.report.drawing import draw
from corekernels.report.palette import RAMPS, SERIES, SURFACES, assign_looks
from support.browser import find_browser, look_at, print_to_pdf, require_readable
from support.sample_report import METHODS, sample_report

matplotlib = pytest.importorskip("matplotlib", reason="pages need the extra report")
pytest.importorskip("jinja2", reason="pages need the extra report")

needs_browser = pytest.mark.skipif(
    find_browser() is None, reason="needs chromium, chromium-browser or google-chrome"
)
VOID = {"meta", "link", "br", "hr", "img", "input", "source"}
SVG = "{http://www.w3.org/2000/svg}"


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


@pytest.fixture(scope="module")
def written(report, tmp_path_factory):
    """The Markdown twin: the files of its figures, then its own."""
    folder = tmp_path_factory.mktemp("markdown")
    return write_markdown(report, folder / "results.md", figures="drawn")


def images(tree):
    """The SVG images of a page, by (is dark, is narrow)."""
    found = {}
    for tag, attributes, around in tree.elements:
        if tag in ("img", "source"):
            address = attributes["src" if tag == "img" else "srcset"]
            kind, data = address.split(",")
            assert kind == "data:image/svg+xml;base64"
            theme = [a["class"] for name, a, _ in tree.elements if name == "picture"]
            n = sum(len(one) for one in found.values())
            assert around[-1] == "picture"
            key = (theme[n // 2] == "dark", tag == "source")
            found.setdefault(key, []).append(base64.b64decode(data).decode())
    return found


def svg_texts(text):
    """The texts of an SVG image, with their places."""
    return [
        ("".join(node.itertext()), float(node.get("x")), float(node.get("y")))
        for node in ET.fromstring(text).iter(f"{SVG}text")
    ]


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


def test_each_figure_is_drawn_for_both_themes_and_widths_and_described(tree, report):
    found = images(tree)
    assert set(found) == set(itertools.product((False, True), repeat=2))
    assert [len(drawn) for drawn in found.values()] == [4] * 4
    alts = [figure.alt for figure in report.figures() for _ in range(2)]
    assert [a["alt"] for a in tree.all("img")] == alts
    for (dark, narrow), drawn in found.items():
        for text in drawn:
            width = float(ET.fromstring(text).get("viewBox").split()[2])
            assert (width < 300) == narrow
            assert f"fill:{SURFACES['paper'][dark]}" in text
            assert not any(f":{pair[not dark]}" in text for pair in SURFACES.values())


def test_tables_have_captions_scopes_and_right_aligned_numbers(tree):
    assert len(tree.all("table")) == len(tree.all("caption")) == 2
    assert {a["scope"] for a in tree.all("th")} == {"row", "col", "colgroup"}
    assert len([a for a in tree.all("th") if a["scope"] == "row"]) == 6 + 2
    kinds = [a.get("class", "").split() for a in tree.all("td")]
    assert sum("number" in kind for kind in kinds) == 6 * 10 + 2 * 3
    assert sum("difference" in kind for kind in kinds) == 6 * 5
    assert sum("start" in kind for kind in kinds) == 6 * 5


def test_headings_and_landmarks_are_in_order(tree):
    tags = [tag for tag, _, _ in tree.elements]
    assert [t for t in tags if re.fullmatch("h[1-6]", t)] == ["h1", "h2", "h2", "h2", "h2", "h2"]
    landmarks = [t for t in tags if t in ("header", "nav", "main", "footer")]
    assert landmarks == ["header", "nav", "main", "footer"]
    assert tree.all("html") == [{"lang": "en"}]


def test_nothing_is_fetched_and_nothing_runs(tree, page):
    assert not tree.all("script")
    for text in [page, *(text for drawn in images(tree).values() for text in drawn)]:
        assert re.findall(r'(?:src|srcset|href)="(?!#|data:)[^"]*"', text) == []
        assert "@import" not in text
        assert not re.search(r"url\((?!#)", text)


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
    # title, h1, lead, contents, h2, text, code, caption, group, 2 columns, 2 cells, figure
    # caption, note, command, fact
    assert len([text for text, _ in tree.texts if text == sign]) == 18
    assert {a["alt"] for a in tree.all("img")} == {sign}
    for drawn in images(tree).values():
        for text in drawn:
            # title, both axes, legend
            assert [found for found, _, _ in svg_texts(text)].count(sign) == 4
            assert ET.fromstring(text).find(f"{SVG}title").text == sign


def test_control_characters_are_seen_not_done():
    name = "\x1b[31mred\x07\u2028"
    line = Line(name, [0, 1], [0, 1])
    figure = Figure("f", name, name, [Panel(name, "x", "y", [line], [Mark("level", 0.5, name)])])
    table = Table(name, [name, "b"], [[name, "1"]])
    report = Report(name, [name], [Section("s", name, [name], [table], [figure])])
    pages = [html_page(report), markdown_page(report), draw(figure, assign_looks([figure]))]
    for text in pages:
        assert not re.search("[\x00-\x09\x0b-\x1f\u2028]", text)
        assert r"\u001b[31mred\u0007" in text.replace("\\\\", "\\").replace("\\[", "[")
    ET.fromstring(pages[2])


def test_differences_carry_their_sign_as_text(page):
    assert '<td class="difference less">−1.3</td>' in page
    assert '<td class="difference more">+0.3</td>' in page
    assert '<td class="difference">+0.0</td>' in page  # no difference, no colour
    assert '<td class="number">−1.003</td>' in page  # a negative number is not a difference
    assert '<td class="number">–</td>' in page


def test_the_same_report_gives_the_same_bytes(tmp_path):
    def one_panel():
        report = sample_report()
        figure = report.figures()[0]
        figure = dataclasses.replace(figure, panels=figure.panels[:1])
        section = dataclasses.replace(report.sections[0], figures=[figure])
        return dataclasses.replace(report, sections=[section])

    again = [write_report(one_panel(), tmp_path / name) for name in ("one", "two")]
    for first, second in zip(*again, strict=True):
        assert first.read_bytes() == second.read_bytes()
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == [
        "figures",
        "report.html",
        "report.md",
    ]


def test_the_readers_matplotlib_settings_change_nothing():
    panel = Panel("", "x", "y", [Line("one", [1, 2], [1, 2])], [Mark("mark", 1.5, "one")])
    figure = Figure("figure", "", "", [panel])
    text = draw(figure, assign_looks([figure]))
    with matplotlib.rc_context({"lines.linewidth": 9, "font.family": "serif", "axes.grid": False}):
        assert draw(figure, assign_looks([figure])) == text


def test_figure_files_stand_alone(report, written):
    for figure, file in zip(report.figures(), written[:-1], strict=True):
        text = file.read_text(encoding="utf-8")
        assert ET.fromstring(text).find(f"{SVG}title").text == figure.alt
        assert "DejaVu" not in text
        assert "<metadata" not in text
        ids = re.findall(r' id="([^"]+)"', text)
        assert len(ids) == len(set(ids))
        used = re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', text)
        assert {one for found in used for one in found if one} <= set(ids)


def test_figures_are_short(written):
    for file in written[:-1]:
        text = file.read_text(encoding="utf-8")
        groups = re.findall(r"<g[^>]*>((?:<use [^>]*>)+)</g>", text)
        markers = sum(group.count("<use ") for group in groups)
        assert markers == text.count("<use ") > 10  # all stand in groups, which have their style
        assert not re.search(r'<use [^>]*style|<g/>|xlink|="[^"]*\d\.\d{3}|[ML] \d', text)
        assert max(map(len, re.findall(r' id="([^"]*)"', text))) <= 4


def test_numbers_at_the_axes_are_not_rounded():
    line = Line("one", [0.001, 0.002], [0.0125, 0.0135])
    figure = Figure("figure", "", "", [Panel("", "x", "y", [line], [Mark("mark", 0.01312)])])
    texts = [text for text, _, _ in svg_texts(draw(figure, assign_looks([figure])))]
    assert "0.0012" in texts
    assert "0.01312" in texts


def names_of(*groups):
    """Figures of lines with these names."""
    return [
        Figure(f"f{i}", "", "", [Panel("", "", "", [Line(name, [1], [1]) for name in group])])
        for i, group in enumerate(groups)
    ]


def test_the_series_of_a_report_take_the_first_colours_and_scales_get_ramps():
    looks = assign_looks(names_of(("k = 256", "other", "CoRE 2", "k = 64", "k = 128")), METHODS)
    assert [looks[name].colours for name in METHODS] == SERIES[:5]
    assert looks["other"].colours == SERIES[5]
    ramp = [looks[f"k = {k}"] for k in (64, 128, 256)]
    assert [one.colours for one in ramp] == [RAMPS[0][i] for i in (0, 4, 8)]
    assert len({one.marker for one in ramp}) == 3
    assert all(one.is_step for one in ramp)


def test_lines_of_one_figure_never_look_the_same():
    groups = (("a", "b", "c"), ("d", "e"), ("linear", "f", "g", "h", "i", "j", "k", "l"))
    looks = assign_looks(names_of(*groups), METHODS)
    assert len(looks) == len(METHODS) + 12  # more than there are colours
    for group in groups:
        assert len({looks[name].colours for name in group}) == len(group)
        assert len({looks[name].marker for name in group}) == len(group)


def test_marks_of_different_names_have_different_dashes():
    marks = [Mark("paper", 1.0, "one"), Mark("paper", 1.2), Mark("exact", 1.5), Mark("linear", 2.0)]
    figure = Figure("f", "", "", [Panel("", "", "", [Line("one", [1, 2], [1, 2])], marks)])
    text = draw(figure, assign_looks([figure]))
    dashes = re.findall(r"stroke-dasharray:([^;]+);", text)
    assert len(set(dashes)) == 3
    assert len(dashes) == 4 + 3  # the marks, and their entries in the legend


def test_the_values_of_marks_do_not_overlap():
    heights = [1.0, 1.01, 1.02, 1.5, 1.99, 2.0]
    marks = [Mark("mark", height) for height in heights]
    figure = Figure("f", "", "", [Panel("", "", "", [Line("one", [1, 2], [1, 2])], marks)])
    texts = svg_texts(draw(figure, assign_looks([figure])))
    places = {text: y for text, _, y in texts if re.fullmatch(r"\d\.\d\d", text)}
    assert list(places) == [f"{height:.2f}" for height in heights]
    gaps = [low - high for low, high in itertools.pairwise(places.values())]
    assert all(gap >= 8.25 for gap in gaps)  # the height of the letters


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
    surfaces = {name: pair[theme] for name, pair in SURFACES.items()}
    texts = [surfaces[name] for name in ("ink", "quiet", "accent", "more", "less")]
    texts += [pair[theme] for pair in SERIES]
    # the guidelines' AA: 4.5 for text, 3 for drawings
    assert all(_contrast(colour, surfaces["paper"]) >= 4.5 for colour in texts)
    assert all(_contrast(surfaces[name], surfaces["panel"]) >= 4.5 for name in ("ink", "quiet"))
    steps = [pair[theme] for ramp in RAMPS for pair in ramp]
    assert all(_contrast(colour, surfaces["paper"]) >= 3 for colour in steps)


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
def test_the_first_five_colours_stay_apart_for_the_colour_blind(theme, cones):
    seen = [np.clip(cones @ _linear(pair[theme]), 0, 1) for pair in SERIES[:5]]
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
    own_y = Figure("figure", "", "", panels)
    assert "日本語 $x$" in [text for text, _, _ in svg_texts(draw(own_y, assign_looks([own_y])))]
    tree = Tree(html_page(small(panels=panels, same_y=True)))
    for drawn in images(tree).values():
        assert "日本語 $x$" in [text for text, _, _ in svg_texts(drawn[0])]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "a/b"}, "a/b"),
        ({"name": ""}, "name ''"),
        ({"columns": 5}, "columns 5"),
        ({"panels": []}, "has no panels"),
    ],
)
def test_figures_that_cannot_be_shown_are_refused(changes, message):
    with pytest.raises(ParameterError, match=f"figure.*{message}"):
        html_page(small(**changes))


def test_an_unknown_style_is_refused():
    with pytest.raises(ParameterError, match="line 'a': style: got 'wavy'; choose one of solid"):
        Line("a", [1], [1], style="wavy")


def test_names_twice_and_rows_of_the_wrong_length_are_refused():
    section = Section("part", "Part")
    with pytest.raises(ParameterError, match="two are named 'part'"):
        Report("", [], [section, section])
    with pytest.raises(ParameterError, match="table 't': row 0 has 1 cells for 2 columns"):
        Table("t", ["a", "b"], [["1"]])
    with pytest.raises(ParameterError, match="table 't': groups span 2 of 1 columns"):
        Table("t", ["a"], [], groups=[("g", 2)])


@pytest.mark.parametrize("package", ["matplotlib", "jinja2"])
def test_without_a_package_the_extra_is_named(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"{package}.*pip install 'corekernels\[report\]'"):
        html_page(small())


def test_a_failed_page_leaves_the_old_one(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(ParameterError):
        write_page(small(panels=[]), path)
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    assert path.read_text() == "old"


def test_markdown_says_the_same(report, written):
    text = written[-1].read_text(encoding="utf-8")
    for section in report.sections:
        assert f"## {section.title}" in text
        assert f"](#{section.name})" in text
        assert section.command in text
    images = re.findall(r"!\[[^]]+\]\(([^)]+)\)", text)
    assert [written[-1].parent / image for image in images] == written[:-1]
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
    assert len(seen.figures) == len(seen.papers) * 2 == 8
    paper = SURFACES["paper"][dark]
    assert seen.background == f"rgb({', '.join(str(int(paper[i : i + 2], 16)) for i in (1, 3, 5))})"
    assert max(box["right"] for box in seen.figures) >= 0.9 * width  # no empty third


@needs_browser
@pytest.mark.parametrize("columns", [6, 12])
def test_tables_of_six_columns_are_seen_whole_on_a_narrow_screen(columns, tmp_path):
    """Those of the kernels that the page is about stand last."""
    names = ["data set", "linear", "linear, binarised", "resemblance", "CoRE 1", "CoRE 2"]
    rows = [["digits", "96.2", "88.8", "90.7", "97.9", "98.1"]]
    times = columns // 6
    table = Table("Best accuracies, %.", names * times, [row * times for row in rows])
    page = tmp_path / "page.html"
    page.write_text(html_page(Report("Page", [], [Section("one", "One", tables=[table])])))
    assert bool(look_at(page, 400).cut_off) == (columns > 6)


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
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_prints_in_light_colours(file, tmp_path, dark):
    print_to_pdf(file, tmp_path / "report.pdf", dark)
    content = (tmp_path / "report.pdf").read_bytes()
    assert content.startswith(b"%PDF")
    streams = re.findall(rb"stream\r?\n(.*?)endstream", content, re.DOTALL)
    drawn = b"".join(_inflated(stream) for stream in streams)
    fills = {
        tuple(round(255 * float(part)) for part in fill)
        for fill in re.findall(rb"([\d.]+) ([\d.]+) ([\d.]+) rg\b", drawn)
    }
    light, dark_ones = (
        {tuple(bytes.fromhex(pair[i][1:])) for pair in (SURFACES["paper"], *SERIES[:5])}
        for i in range(2)
    )
    assert fills & light
    assert not fills & dark_ones


def _inflated(stream):
    try:
        return zlib.decompressobj().decompress(stream)
    except zlib.error:  # fonts and the like
        return b""
