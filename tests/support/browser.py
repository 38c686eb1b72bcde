"""What a headless Chromium sees of pages that are served from this machine.

One browser opens all pages in turn, in a frame of the wanted width, as windows have a least width.
A policy says what pages may fetch and run: all else is a complaint on the console.
"""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OF_A_SITE = "default-src 'self' 'unsafe-inline' data:"
OF_ONE_FILE = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
CHATTER = ("[PST]", "Got invalid theme mode")  # what the theme of the site says of each page
WRAPPER_ADDRESS = "/wrapper-of-pages"
WRAPPER = """<!DOCTYPE html>
<meta charset="utf-8">
<iframe id="frame" style="border:0;height:900px"></iframe>
<script>
const measure = (page) => {
  const style = (node) => frame.contentWindow.getComputedStyle(node);
  const root = page.documentElement, width = root.clientWidth;
  const inScroller = (node) => node && node != root && node != page.body
    && (["auto", "scroll"].includes(style(node).overflowX) || inScroller(node.parentElement));
  const shown = (node) => {
    const box = node.getBoundingClientRect();
    return node.checkVisibility({opacityProperty: true, visibilityProperty: true})
      && box.width > 1 && box.height > 1;
  };
  const headline = page.querySelector("h1");
  return {
    scroll_width: root.scrollWidth,
    too_wide: [...page.body.querySelectorAll("*")]
      .filter((n) => shown(n) && !inScroller(n) && n.getBoundingClientRect().right > width + 0.5)
      .map((n) => n.tagName + "." + (n.getAttribute("class") || "")),
    missing_images: [...page.images].filter((image) => !image.naturalWidth)
      .map((image) => image.getAttribute("src").slice(0, 99)),
    headline: headline && shown(headline) ? headline.textContent : "",
    background: style(page.body).backgroundColor,
  };
};
(async () => {
  const seen = [];
  for (const [address, width] of %s) {
    frame.style.width = `${width}px`;
    const loaded = new Promise((resolve) => { frame.onload = resolve; });
    frame.src = "/" + address;
    await loaded;
    const page = frame.contentDocument;
    for (const image of page.images) image.loading = "eager";
    await Promise.all([...page.images].map((image) => image.decode().catch(() => null)));
    seen.push({page: address, width: width, ...measure(page)});
  }
  await fetch(location, {method: "POST", body: JSON.stringify(seen)});
})();
</script>
"""


@dataclass(frozen=True)
class SeenPage:
    """A page as it stands in a window of some width."""

    page: str
    width: int
    scroll_width: int
    too_wide: list[str]  # elements that reach over the right edge, outside of scrolling boxes
    missing_images: list[str]
    headline: str  # empty where it is not shown
    background: str


@dataclass(frozen=True)
class Seen:
    """Pages, and what went wrong with any of them."""

    pages: list[SeenPage]
    console: list[str]
    missing_files: list[str]


def find_browser() -> str | None:
    """The path of a Chromium, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def look_at(
    folder: Path, pages: Sequence[str], widths: Sequence[int], dark: bool = False,
    policy: str = OF_A_SITE, patience: float = 300.0,
) -> Seen:  # fmt: skip
    """Open these pages of a folder one after the other, in each width, in one of the themes."""
    places = [(page, width) for page in pages for width in widths]
    answers: list[list[dict[str, object]]] = []
    missing: set[str] = set()
    done = threading.Event()

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == WRAPPER_ADDRESS:
                self.answer(WRAPPER % json.dumps(places))
            else:
                super().do_GET()

        def do_POST(self) -> None:
            answers.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.answer("")
            done.set()

        def answer(self, text: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(text.encode())

        def end_headers(self) -> None:
            if self.path != WRAPPER_ADDRESS:
                self.send_header("Content-Security-Policy", policy)
            super().end_headers()

        def send_error(self, code: int, *rest: object) -> None:
            if not self.path.endswith("/favicon.ico"):  # browsers ask without being told to
                missing.add(f"{code} {self.path}")
            super().send_error(code)

        def log_message(self, *rest: object) -> None:
            """Nothing: the tests say what was missing."""

    handler = partial(Handler, directory=str(folder))
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), handler) as server,
        tempfile.TemporaryDirectory() as profile,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}{WRAPPER_ADDRESS}"
        log = Path(profile) / "log"
        with log.open("w") as stderr:
            browser = subprocess.Popen(
                _command(profile, dark, address),
                stderr=stderr, env={**os.environ, "HOME": profile}, start_new_session=True,
            )  # fmt: skip
            try:
                came = done.wait(patience)
            finally:
                os.killpg(browser.pid, signal.SIGKILL)
                browser.wait()
                server.shutdown()
        text = log.read_text("utf-8", errors="replace")
    assert came, f"no measurements came back:\n{text[-2000:]}"
    console = [line for line in text.splitlines() if "CONSOLE" in line]
    spoken = [line for line in console if not any(word in line for word in CHATTER)]
    return Seen([SeenPage(**one) for one in answers[0]], spoken, sorted(missing))


def require_readable(path: Path, dark: bool = False) -> None:
    """Assert that a page of one file fits a phone and a desktop, and needs nothing else."""
    seen = look_at(path.parent, [path.name], (390, 1280), dark, OF_ONE_FILE)
    assert (seen.console, seen.missing_files) == ([], [])
    for page in seen.pages:
        assert (page.scroll_width, page.too_wide, page.missing_images) == (page.width, [], [])
        assert page.headline
        assert is_dark(page.background) == dark


def is_dark(colour: str) -> bool:
    """Whether a colour, as browsers write it, is one of a dark theme."""
    parts = [float(part) for part in colour.strip("rgba()").split(",")[:3]]
    return sum(parts) / 3 < 128


def _command(profile: str, dark: bool, address: str) -> list[str]:
    """A Chromium that keeps its files in a folder and leaves the screen alone."""
    browser = find_browser()
    assert browser is not None
    return [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
        "--disable-background-networking", "--no-first-run", "--enable-logging=stderr",
        "--remote-debugging-port=0",  # or it would end before the pages have loaded
        f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        f"--user-data-dir={profile}/profile", address,
    ]  # fmt: skip
