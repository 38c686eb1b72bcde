"""Strings of JSON lines are those of Python's reader; anything odd is left to other readers."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corekernels.documents.json_lines import JsonLines
from corekernels.documents.json_strings import json_strings

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=150)
KEYS = st.sampled_from(["other", "tex", "textt", "größe", "a\nb", "\U0001d6fc"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.integers()
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


def strings(path, names=("text",), **options):
    (records,) = JsonLines(path)._records(1 << 20)
    return json_strings(records, names, **options)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.dictionaries(KEYS, VALUES, max_size=3), TEXTS, TEXTS), min_size=1),
    st.booleans(), st.sampled_from([None, 1]), st.integers(1, 2),
)  # fmt: skip
def test_values_are_those_of_python(tmp_path_factory, rows, ascii_only, indent, size):
    path = tmp_path_factory.mktemp("lines") / "rows.jsonl"
    objects = [more | {"text": one, "title é": two} | more for more, one, two in rows]
    separators = (",", ":") if indent is None else (" ,\t", "\r: ")
    lines = [json.dumps(o, ensure_ascii=ascii_only, separators=separators) for o in objects]
    path.write_bytes("".join(f" {line} \n" for line in lines).encode())
    found = strings(path, ["text", "title é"], segment_bytes=100 * size)
    assert found["text"].to_pylist() == [o["text"] for o in objects]
    assert found["title é"].to_pylist() == [o["title é"] for o in objects]


GOOD = '{"text": "a"}'


@pytest.mark.parametrize(
    "line",
    [
        '{"text": null}', '{"text": 3}', '{"other": "a"}', '{"text": "a", "text": "b"}', "{}",
        '{"text": "a"', '{"text": "a"} x', '{"text": "a",}', '["a"]', '"a"', "3", '{"text" "a"}',
        '{"text": "a" "b": 1}', '{"text": "\\x"}', '{"text": "\\u12g4"}', '{"text": "\\ud800"}',
        '{"text": "\\ud800\\u0041"}', '{"text": "a\tb"}', "{text: 1}", '{"text": "a", "b": 01}',
        '{"text": "a", "b": 1.}', '{"text": "a", "b": .5}', '{"text": "a", "b": -}',
        '{"text": "a", "b": 1e}', '{"text": "a", "b": nul}', '{"text": "a", "b": [1 2]}',
        '{"text": "a", "b": [1,]}', '{"text": "a", "b": {"c": 1]}', '{"text": "a", "b": {"c"}}',
        '{"text": "a", "b": {c: 1}}', '{"text": "a", "b": NaN}', '{"text": "a", "b": falsy}',
        '{"text": "a", "b": ' + 70 * "[" + 70 * "]" + "}",
    ],
)  # fmt: skip
def test_odd_lines_are_left_to_others(tmp_path, line):
    (tmp_path / "rows.jsonl").write_text(f"{GOOD}\n{line}\n{GOOD}\n")
    assert strings(tmp_path / "rows.jsonl") is None


def test_deep_values_and_blank_lines(tmp_path):
    for depth, is_read in ((60, True), (61, False)):
        line = f'{{"text": "a", "d": {depth * "["}1e-5{depth * "]"}}}'
        (tmp_path / "rows.jsonl").write_text(line)
        assert (strings(tmp_path / "rows.jsonl") is not None) == is_read
    lines = [GOOD, "", '{"b": [[], {}, [{}], -0.5E+7, true, false], "text": ""}', "  ", GOOD]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    assert strings(tmp_path / "rows.jsonl")["text"].to_pylist() == ["a", "", "a"]
