"""The links of a built site."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit


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
