"""The code of README and documentation runs and prints what the pages say."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
OPTIONS = doctest.NORMALIZE_WHITESPACE


def python_blocks(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)


def sessions(page):
    """The blocks that show what Python prints; others need files of the reader's own."""
    if page.suffix == ".rst":
        return [page.read_text("utf-8")]
    return [block for block in python_blocks(page) if block.startswith(">>> ")]


MARKDOWN = sorted((ROOT / "docs").glob("*.md"))
PAGES = [README, ROOT / "docs/api/index.rst", *(page for page in MARKDOWN if sessions(page))]


def test_readme_shows_only_code_that_runs():
    assert sessions(README) == python_blocks(README) != []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_sessions(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some blocks write a file
    text = "".join(sessions(page))
    session = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    report: list[str] = []
    doctest.DocTestRunner(verbose=False, optionflags=OPTIONS).run(session, out=report.append)
    assert not report, "".join(report)
