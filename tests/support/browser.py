"""What a headless Chromium sees of a page: sizes, colours, and what it complains of.

The page is shown under a policy that forbids scripts and all fetching, so that either is a
complaint on the console.
"""

import html
import json
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
# a frame of the wanted width, as windows have a least width
WRAPPER = """<!DOCTYPE html>
<meta charset="utf-8">
<pre id="seen"></pre>
<iframe id="frame" style="border:0;width:%(width)dpx;height:900px"></iframe>
<script>
frame.onload = () => {
  const page = frame.contentDocument, root = page.documentElement;
  const view = frame.contentWindow;
  const inScroller = (node) => {
    for (; node; node = node.parentElement)
      if (["auto", "scroll"].includes(view.getComputedStyle(node).overflowX)) return true;
    return false;
  };
  const box = (node) => {
    const r = node.getBoundingClientRect();
    return {name: node.id || node.tagName, width: r.width, height: r.height, right: r.right};
  };
  const images = [...page.querySelectorAll("figure img")].filter(
    (image) => view.getComputedStyle(image.parentElement).display != "none");
  // the insides of the images that are shown, at their size, where they can be measured
  const drawn = images.map((image) => {
    const bytes = Uint8Array.from(atob(image.currentSrc.split(",")[1]), (c) => c.charCodeAt(0));
    const text = new TextDecoder().decode(bytes);
    const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    svg.setAttribute("width", image.width);
    svg.setAttribute("height", image.height);
    return document.body.appendChild(document.importNode(svg, true));
  });
  const texts = drawn.flatMap((svg) => {
    const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    return [...svg.querySelectorAll("text")].map(
      (text) => scale * parseFloat(getComputedStyle(text).fontSize));
  });
  const clipped = drawn.flatMap((svg) => {
    const out = svg.getBoundingClientRect();
    return [...svg.querySelectorAll("text")].filter((text) => {
      const r = text.getBoundingClientRect();
      return r.left < out.left - 1 || r.right > out.right + 1 || r.top < out.top - 1
        || r.bottom > out.bottom + 1;
    }).map((text) => text.textContent);
  });
  const unstuck = [...page.querySelectorAll(".scroll")].filter((scroll) => {
    scroll.scrollLeft = 1e4;
    const left = scroll.getBoundingClientRect().left;
    return [...scroll.querySelectorAll("th[scope=row]")].some(
      (head) => Math.abs(head.getBoundingClientRect().left - left) > 1);
  });
  seen.textContent = JSON.stringify({
    scroll_width: root.scrollWidth,
    client_width: root.clientWidth,
    too_wide: [...page.body.querySelectorAll("*")]
      .filter((n) => n.getBoundingClientRect().right > root.clientWidth + 0.5 && !inScroller(n))
      .map((n) => n.tagName + "." + (n.getAttribute("class") || "")),
    figures: [...page.querySelectorAll("figure"), ...images].map(box),
    papers: drawn.map((svg) => getComputedStyle(svg.querySelector("path:not(defs *)")).fill),
    unstuck: unstuck.map(box),
    cut_off: [...page.querySelectorAll(".scroll")]
      .filter((scroll) => scroll.scrollWidth > scroll.clientWidth + 1).map(box),
    background: view.getComputedStyle(page.body).backgroundColor,
    smallest_text: Math.min(...texts),
    clipped: clipped,
  });
};
frame.srcdoc = %(page)s;
</script>
"""


@dataclass(frozen=True)
class Seen:
    """A page as it stands in a window of some width."""

    scroll_width: int
    client_width: int
    too_wide: list[str]  # elements that reach over the right edge, outside of scrolling boxes
    figures: list[dict[str, float]]  # boxes of figures and of the images shown in them
    papers: list[str]  # the colours that these images are drawn on
    unstuck: list[dict[str, float]]  # tables whose first column leaves with the others
    cut_off: list[dict[str, float]]  # tables that have to be scrolled sideways
    background: str
    smallest_text: float  # pixels, in the figures; infinite where there is none
    clipped: list[str]  # texts that reach out of their figure
    console: list[str]


def find_browser() -> str | None:
    """The path of a Chromium, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def look_at(page: Path, width: int, dark: bool = False) -> Seen:
    """Open a page in a window of this width, in the light or the dark theme."""
    with tempfile.TemporaryDirectory() as folder:
        wrapper = Path(folder) / "wrapper.html"
        wrapper.write_text(WRAPPER % {"page": _quoted(page), "width": width}, encoding="utf-8")
        ended = run_browser(
            folder,
            "--dump-dom",
            "--virtual-time-budget=5000",
            "--enable-logging=stderr",
            scheme_option(dark),
            wrapper.as_uri(),
        )
    found = re.search(r'<pre id="seen">(\{.*?\})</pre>', ended.stdout, re.DOTALL)
    assert found, f"no measurements came back:\n{ended.stderr[-2000:]}"
    console = [line for line in ended.stderr.splitlines() if "CONSOLE" in line]
    seen = json.loads(html.unescape(found[1]))
    seen["smallest_text"] = seen["smallest_text"] or float("inf")  # JSON has no infinity
    return Seen(console=console, **seen)


def require_readable(page: Path, width: int, dark: bool = False) -> Seen:
    """What a page looks like, after asserting that a person can read all of it."""
    seen = look_at(page, width, dark)
    assert seen.console == []
    assert seen.scroll_width == seen.client_width == width
    assert seen.too_wide == []
    assert all(box["width"] > 0 and box["height"] > 0 for box in seen.figures)
    assert seen.clipped == []
    assert seen.smallest_text >= 9
    assert seen.unstuck == []
    assert set(seen.papers) <= {seen.background}
    return seen


def _quoted(page: Path) -> str:
    """A page under the policy, as a string in a script."""
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    text = page.read_text(encoding="utf-8")
    head = re.search(r"<head>|<!DOCTYPE html>", text)
    at = head.end() if head else 0
    return json.dumps(text[:at] + policy + text[at:]).replace("</", "<\\/")


def print_to_pdf(page: Path, target: Path, dark: bool = False) -> None:
    """Print a page from a wide window."""
    with tempfile.TemporaryDirectory() as folder:
        run_browser(
            folder,
            "--window-size=1280,900",
            "--no-pdf-header-footer",
            f"--print-to-pdf={target}",
            scheme_option(dark),
            page.resolve().as_uri(),
        )


def scheme_option(dark: bool) -> str:
    return f"--blink-settings=preferredColorScheme={0 if dark else 1}"


def run_browser(profile: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Chromium with these options, until it ends by itself."""
    return subprocess.run(
        browser_command(profile, *options),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env={**os.environ, "HOME": profile},
    )


def browser_command(profile: str, *options: str) -> list[str]:
    """The command of a Chromium that keeps its files in a folder and leaves the screen alone."""
    browser = find_browser()
    assert browser is not None
    settings = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--disable-background-networking",
        "--no-first-run",
        f"--user-data-dir={profile}/profile",
    )
    return [browser, *settings, *options]
