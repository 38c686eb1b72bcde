"""The built documentation in a browser: `make site` builds it and then runs these tests."""

from pathlib import Path

import pytest

from support.browser import find_browser, is_dark, look_at
from support.site import broken_links

SITE = Path(__file__).parent.parent / "docs" / "_build" / "html"
# beside all pages at the top: lists, an example, a class, a function, a page of tables and figures
BELOW = (
    "api/index.html",
    "api/generated/corekernels.CoREClassifier.html",
    "api/generated/corekernels.core1.html",
    "gallery/index.html",
    "gallery/learning/plot_choosing_c.html",
    "gallery/search/plot_neighbours.html",
    "reproduction/report.html",
)

pytestmark = pytest.mark.site


@pytest.fixture(scope="module")
def pages():
    assert (SITE / "index.html").exists(), "no built site; `make site` builds it"
    return [*sorted(path.name for path in SITE.glob("*.html")), *BELOW]


def test_all_links_arrive(pages):
    assert broken_links(SITE) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_page_can_be_read(pages, dark):
    if find_browser() is None:
        pytest.skip("needs chromium, chromium-browser or google-chrome")
    seen = look_at(SITE, pages, (1280, 400), dark)
    assert [page.page for page in seen.pages[::2]] == pages
    assert (seen.missing_files, seen.console) == ([], [])
    wrong = [
        page
        for page in seen.pages
        if page.scroll_width != page.width or page.too_wide or page.missing_images
        or not page.headline or is_dark(page.background) != dark
    ]  # fmt: skip
    assert wrong == []


def test_the_browser_would_tell(tmp_path):
    if find_browser() is None:
        pytest.skip("needs chromium, chromium-browser or google-chrome")
    (tmp_path / "bad.html").write_text(
        "<!DOCTYPE html><h1 style='display:none'>Title</h1><img src=missing.png>"
        "<p style='width:900px'>wide</p><script>nothing()</script>"
        "<script src='http://elsewhere.example/script.js'></script>"
        "<a href='gone.html'></a><a href='#gone'></a>"
    )
    seen = look_at(tmp_path, ["bad.html"], [400])
    (page,) = seen.pages
    assert page.scroll_width > page.width
    assert (page.too_wide, page.missing_images, page.headline) == (["P."], ["missing.png"], "")
    assert seen.missing_files == ["404 /missing.png"]
    assert any("nothing is not defined" in line for line in seen.console)
    assert any("elsewhere.example" in line for line in seen.console)
    assert broken_links(tmp_path) == [
        f"bad.html: {link}" for link in ("missing.png", "gone.html", "#gone")
    ]
