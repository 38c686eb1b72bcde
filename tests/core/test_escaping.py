"""Every text is read back from its field, which stands on one line of its own."""

import json
import sys

from corekernels._core.escaping import field, fields, visible


def test_fields_of_all_characters_are_read_back():
    for first in range(0, sys.maxunicode + 1, 1 << 12):
        text = ".".join(map(chr, range(first, first + (1 << 12)))) + '\\n\\"'
        escaped = field(text)
        assert escaped.splitlines() == [escaped]
        assert "\t" not in escaped
        escaped.encode()
        assert json.loads('"' + escaped.replace('"', r"\"") + '"', strict=True) == text


def test_what_is_shown_is_left_alone_but_for_control_characters():
    text = 'C:\\path "quoted" \u00a0é漢\U0001f600'
    assert visible(text) == text
    assert visible("\x1b]0;title\x07\x9b1m\r\n\x7f") == r"\u001b]0;title\u0007\u009b1m\r\n\u007f"


def test_numbers_stay_as_they_are():
    assert fields([3, "3\n", 2.5]) == [3, r"3\n", "2.5"]
