"""The built documentation in a browser: `make site` builds it and then runs these tests."""

from pathlib import Path

import pytest

from support.browser import find_browser
from support.site import broken_links, look_at_site

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
WIDTHS = (1280, 400)

pytestmark = pytest.mark.site


@pytest.fixture(scope="module")
def pages():
    assert (SITE / "index.html").exists(), "no built site; `make site` builds it"
    return [*sorted(path.name for path in SITE.glob("*.html")), *BELOW]


@pytest.fixture(scope="module", params=[False, True], ids=["light", "dark"])
def seen(request, pages):
    """The site in one theme, and whether that is the dark one."""
    if find_browser() is None:
        pytest.skip("needs chromium, chromium-browser or google-chrome")
    return look_at_site(SITE, pages, WIDTHS, request.param), request.param


def of_pages(seen, name):
    """What is to be empty on each page, where it is not."""
    return {
        (page.page, page.width): getattr(page, name) for page in seen.pages if getattr(page, name)
    }


def test_all_links_arrive(pages):
    assert broken_links(SITE) == []


def test_every_page_was_opened_and_has_a_headline(seen, pages):
    site, _ = seen
    opened = [(page.page, page.width) for page in site.pages]
    assert opened == [(page, width) for page in pages for width in WIDTHS]
    assert [page.page for page in site.pages if not page.headline] == []


def test_nothing_is_missing_and_no_script_fails(seen):
    site, _ = seen
    assert site.missing_files == []
    assert of_pages(site, "missing_images") == {}
    assert site.console == []


def test_pages_fit_their_window(seen):
    site, _ = seen
    assert [page for page in site.pages if page.scroll_width != page.client_width] == []
    assert of_pages(site, "too_wide") == {}


def test_the_background_follows_the_theme(seen):
    site, dark = seen
    # black and white text on it would have the same contrast at a luminance of 0.18
    wrong = [page for page in site.pages if (page.paper < 0.05) != dark or 0.05 < page.paper < 0.9]
    assert wrong == []


def test_all_texts_stand_out_from_their_background(seen):
    site, _ = seen
    assert of_pages(site, "faint") == {}


def test_the_browser_would_tell(tmp_path):
    if find_browser() is None:
        pytest.skip("needs chromium, chromium-browser or google-chrome")
    (tmp_path / "bad.html").write_text(
        "<!DOCTYPE html><h1 style='display:none'>Title</h1><img src=missing.png>"
        "<p style='width:900px;color:#999'>wide</p><script>nothing()</script>"
        "<script src='http://elsewhere.example/script.js'></script>"
        "<a href='gone.html'></a><a href='#gone'></a>"
    )
    found = look_at_site(tmp_path, ["bad.html"], [400])
    (page,) = found.pages
    assert page.scroll_width > page.client_width == 400
    assert page.too_wide == ["P."]
    assert page.missing_images == ["missing.png"]
    assert page.headline == ""
    assert page.faint == ["wide: 2.85"]  # (1.05 / 0.3685): #999 on white
    assert found.missing_files == ["404 /missing.png"]
    assert any("nothing is not defined" in line for line in found.console)
    assert any("elsewhere.example" in line for line in found.console)
    assert broken_links(tmp_path) == [
        f"bad.html: {link}" for link in ("missing.png", "gone.html", "#gone")
    ]
