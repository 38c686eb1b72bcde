"""The Markdown twin of a page says the same."""

import re

from corekernels.report.layout import Report
from reproduction.markdown import markdown_page, write_markdown
from support.sample_report import sample_report


def test_markdown_says_the_same(tmp_path):
    report = sample_report()
    write_markdown(report, tmp_path)
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "## Wide" in text
    assert "](#one)" in text
    assert "```sh\ntrain --C 1\n```" in text
    images = re.findall(r"!\[[^]]+\]\(([^)]+)\)", text)
    assert images == [f"figures/{figure.name}.svg" for figure in report.figures()]
    assert all((tmp_path / image).read_text().startswith("<?xml") for image in images)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert rows[0].startswith("| data set | linear: paper | linear: ours | linear: difference |")
    assert {row.count(" | ") for row in rows[:4]} == {15}
    assert "Rand \\<noise\\> & more" in text
    assert "| seed | 0 |" in text


def test_signs_mean_nothing_outside_of_code():
    text = markdown_page(Report("*a*", ["a | b `c | d` _e_ <b> one ` alone"], [], {"seed": "0"}))
    assert text.splitlines()[0] == "# \\*a\\*"
    assert "a \\| b `c \\| d` \\_e\\_ \\<b\\> one \\` alone" in text
