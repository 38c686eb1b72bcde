"""What a headless Chromium sees of the pages of a built site, served from this machine.

All pages are opened in turn by one browser, in a frame of the wanted width, as windows have a
least width. A policy forbids to fetch from other machines: whatever a page wants from there is a
complaint on the console.
"""

import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

from .browser import browser_command, scheme_option

WRAPPER = """<!DOCTYPE html>
<meta charset="utf-8">
<iframe id="frame" style="border:0;height:900px"></iframe>
<script>
const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
const pixel = (...layers) => {  // colours in the order in which they are painted
  canvas.clearRect(0, 0, 1, 1);
  for (const colour of layers) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
  return [...canvas.getImageData(0, 0, 1, 1).data];
};
// relative luminance and contrast ratio, after the Web Content Accessibility Guidelines
const luminance = (rgb) => [0.2126, 0.7152, 0.0722].reduce((sum, weight, i) => {
  const c = rgb[i] / 255;
  return sum + weight * (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
}, 0);
const contrast = (one, other) => {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};

const measure = (page, width) => {
  const view = frame.contentWindow, root = page.documentElement;
  const style = (node) => view.getComputedStyle(node);
  const parents = function* (node) { for (; node; node = node.parentElement) yield node; };
  const scrolls = (node) => [...parents(node)].some(
    (one) => one != root && one != page.body
      && ["auto", "scroll"].includes(style(one).overflowX));
  const shown = (node) => {
    const box = node.getBoundingClientRect();
    return node.checkVisibility({opacityProperty: true, visibilityProperty: true})
      && box.width > 1 && box.height > 1;
  };
  const papers = (node) => {  // backgrounds down to the first that lets nothing through
    const found = [];
    for (const one of parents(node)) {
      if (style(one).backgroundImage != "none") return null;
      found.unshift(style(one).backgroundColor);
      if (pixel(found[0])[3] == 255) return found;
    }
    return ["white", ...found];
  };
  const faint = [];
  const walker = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
  for (let text; (text = walker.nextNode());) {
    const node = text.parentElement;
    if (!text.data.trim() || !shown(node) || node.closest(%(foreign)s)) continue;
    const behind = papers(node);
    if (behind === null) continue;
    const size = parseFloat(style(node).fontSize), bold = style(node).fontWeight >= 700;
    const needed = size >= 24 || (bold && size >= 18.66) ? 3 : 4.5;
    const found = contrast(pixel(...behind, style(node).color), pixel(...behind));
    if (found < needed) faint.push(`${text.data.trim().slice(0, 40)}: ${found.toFixed(2)}`);
  }
  const headline = page.querySelector("h1");
  return {
    page: frame.contentWindow.location.pathname.slice(1),
    width: width,
    scroll_width: root.scrollWidth,
    client_width: root.clientWidth,
    too_wide: [...page.body.querySelectorAll("*")]
      .filter((node) => shown(node) && !scrolls(node)
        && node.getBoundingClientRect().right > root.clientWidth + 0.5)
      .map((node) => node.tagName + "." + (node.getAttribute("class") || "")),
    missing_images: [...page.images].filter((image) => !image.naturalWidth)
      .map((image) => image.getAttribute("src")),
    headline: headline && shown(headline) ? headline.textContent : "",
    paper: luminance(pixel("white", style(page.body).backgroundColor)),
    faint: [...new Set(faint)],
  };
};

const look = async (address, width) => {
  frame.style.width = `${width}px`;
  const loaded = new Promise((resolve) => { frame.onload = resolve; });
  frame.src = address;
  await loaded;
  const page = frame.contentDocument;
  for (const image of page.images) image.loading = "eager";
  await Promise.all([...page.images].map((image) => image.decode().catch(() => null)));
  return measure(page, width);
};
(async () => {
  const found = [];
  for (const address of %(pages)s)
    for (const width of %(widths)s) found.push(await look("/" + address, width));
  await fetch(location, {method: "POST", body: JSON.stringify(found)});
})();
</script>
"""
POLICY = "default-src 'self' 'unsafe-inline' data:"
WRAPPER_ADDRESS = "/wrapper-of-pages"
# parts whose colours are those of scikit-learn and of the theme
FOREIGN = ".sk-estimator-doc-link, .search-button__kbd-shortcut"
CHATTER = ("[PST]", "Got invalid theme mode")  # what the theme says of each page


@dataclass(frozen=True)
class SeenPage:
    """A page of the site as it stands in a window of some width."""

    page: str
    width: int
    scroll_width: int
    client_width: int
    too_wide: list[str]  # elements that reach over the right edge, outside of scrolling boxes
    missing_images: list[str]
    headline: str  # empty where it is not shown
    paper: float  # luminance of the background: 0 black, 1 white
    faint: list[str]  # texts with less contrast than the guidelines' AA asks for


@dataclass(frozen=True)
class SeenSite:
    """Pages, and what went wrong with any of them."""

    pages: list[SeenPage]
    console: list[str]
    missing_files: list[str]


def look_at_site(
    folder: Path,
    pages: Sequence[str],
    widths: Sequence[int],
    dark: bool = False,
    patience: float = 300.0,
) -> SeenSite:
    """Open these pages of a built site one after the other, in each width, within some seconds."""
    server = _Server(folder, pages, widths)
    with server.running() as address, tempfile.TemporaryDirectory() as own:
        command = browser_command(
            own,
            "--enable-logging=stderr",
            "--remote-debugging-port=0",  # or it would end before the pages have loaded
            scheme_option(dark),
            address + WRAPPER_ADDRESS,
        )
        log = Path(own) / "log"
        with log.open("w") as stderr:
            browser = subprocess.Popen(
                command, stderr=stderr, env={**os.environ, "HOME": own}, start_new_session=True
            )
            try:
                came = server.done.wait(patience)
            finally:
                os.killpg(browser.pid, signal.SIGKILL)
                browser.wait()
        text = log.read_text("utf-8", errors="replace")
    assert came, f"no measurements came back:\n{text[-2000:]}"
    console = [line for line in text.splitlines() if "CONSOLE" in line]
    spoken = [line for line in console if not any(word in line for word in CHATTER)]
    return SeenSite(server.seen, spoken, sorted(server.missing))


class _Server:
    """Serves a folder and the page that opens its pages, and keeps what that page sends back."""

    def __init__(self, folder: Path, pages: Sequence[str], widths: Sequence[int]) -> None:
        self.folder = folder
        self.wrapper = WRAPPER % {
            "pages": json.dumps([*pages]),
            "widths": json.dumps([*widths]),
            "foreign": json.dumps(FOREIGN),
        }
        self.seen: list[SeenPage] = []
        self.missing: set[str] = set()  # what was asked for in vain
        self.done = threading.Event()

    @contextmanager
    def running(self) -> Iterator[str]:
        """The address, as long as it is served."""
        own = self

        class Handler(SimpleHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path == WRAPPER_ADDRESS:
                    self.answer(own.wrapper)
                else:
                    super().do_GET()

            def do_POST(self) -> None:
                found = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                own.seen = [SeenPage(**one) for one in found]
                self.answer("")
                own.done.set()

            def answer(self, text: str) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(text.encode())

            def end_headers(self) -> None:
                self.send_header("Content-Security-Policy", POLICY)
                super().end_headers()

            def send_error(self, code: int, *rest: object) -> None:
                if not self.path.endswith("/favicon.ico"):  # browsers ask without being told to
                    own.missing.add(f"{code} {self.path}")
                super().send_error(code)

            def log_message(self, *rest: object) -> None:
                """Nothing: the tests say what was missing."""

        handler = partial(Handler, directory=str(self.folder))
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield f"http://127.0.0.1:{server.server_port}"
            server.shutdown()


class _Addresses(HTMLParser):
    """Where a page points to, and the places in it that others can point to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.places.add(value or "")
            elif name in ("href", "src") and value:
                self.links.append(value)


def broken_links(folder: Path) -> list[str]:
    """`PAGE: LINK` for each link of a built site to a file or place of it that is not there."""
    pages = {
        path: _Addresses(path.read_text("utf-8"))
        for path in folder.rglob("*.html")
        if "_static" not in path.parts
    }
    broken = []
    for path, page in pages.items():
        for link in page.links:
            if urlsplit(link).scheme or link.startswith("//"):
                continue
            file, place = urldefrag(unquote(link).split("?")[0])
            target = (path.parent / file).resolve() if file else path
            arrives = target.exists() and (target not in pages or place in pages[target].places)
            if not arrives:
                broken.append(f"{path.relative_to(folder)}: {link}")
    return broken
