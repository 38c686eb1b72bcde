"""The README's code runs and prints what the README says."""

import doctest
import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def test_python_blocks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # one block writes a file
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text("utf-8"), re.M | re.S)
    assert blocks
    assert all(block.startswith(">>> ") for block in blocks)
    readme = doctest.DocTestParser().get_doctest("".join(blocks), {}, "README", str(README), 0)
    report: list[str] = []
    doctest.DocTestRunner().run(readme, out=report.append)
    assert not report, "".join(report)
