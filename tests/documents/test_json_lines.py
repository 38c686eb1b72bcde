"""Values of JSON lines are those of Python's reader; what our loops refuse, it reads itself."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corekernels.documents.lines import JsonLines, read_values
from corekernels.io.streams import BadRecords

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=150)
KEYS = st.sampled_from(["other", "tex", "textt", "größe", "a\nb", "\U0001d6fc"])
SCALARS = st.none() | st.booleans() | st.floats() | st.integers() | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def values(path, names=("text",), **options):
    (records,) = JsonLines(path).documents(names, 1 << 20)
    return read_values(records, names, **options)


def texts(path):
    return values(path)["text"].text.to_pylist()


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.dictionaries(KEYS, VALUES, max_size=3), TEXTS, SCALARS), min_size=1),
    st.booleans(), st.sampled_from([None, 1]), st.integers(1, 2), st.sets(st.integers(0, 9)),
)  # fmt: skip
def test_values_are_those_of_python(
    tmp_path_factory, rows, ascii_only, indent, size, left_to_python
):
    path = tmp_path_factory.mktemp("lines") / "rows.jsonl"
    objects = [more | {"text": one, "title é": two} | more for more, one, two in rows]
    separators = (",", ":") if indent is None else (" ,\t", "\r: ")
    lines = [json.dumps(o, ensure_ascii=ascii_only, separators=separators) for o in objects]
    for row in left_to_python & {*range(len(lines))}:
        lines[row] = '{"text": "the last one counts", ' + lines[row].strip()[1:]
    path.write_bytes("".join(f" {line} \n" for line in lines).encode())
    found = values(path, ["text", "title é"], segment_bytes=100 * size)
    assert found["text"].text.to_pylist() == [o["text"] for o in objects]
    stand = [
        o["title é"] if isinstance(o["title é"], str) else json.dumps(o["title é"]) for o in objects
    ]
    assert found["title é"].text.to_pylist() == stand
    assert bytes(found["title é"].first_bytes).decode() == "".join(
        '"' if isinstance(o["title é"], str) else written[0]
        for o, written in zip(objects, stand, strict=True)
    )


GOOD = '{"text": "a"}'
ODD_VALUES = [
    ('{"text": "a", "text": "b"}', "b"), ('{"text": "a", "b": -Infinity}', "a"),
    ('{"text": "a", "b": ' + 70 * "[" + 70 * "]" + "}", "a"),
    ('{"text": "a", "b": ' + 900 * "[" + 900 * "]" + "}", "a"),
    ('{"text": "a", "b": ' + 5000 * "1" + "}", "a"), ('{"text": ' + 5000 * "1" + "}", 5000 * "1"),
    ('{"text": "a", "text": ' + 5000 * "1" + "}", 5000 * "1"), ('{"te\\u0078t": "a"}', "a"),
    ('{"text": "a", "text": {"b": 1}}', ""),
]  # fmt: skip
BAD = [
    '{"other": "a"}', "{}", '{"text": "a"', '{"text": "a"} x', '{"text": "a",}', '["a"]', '"a"',
    "3", '{"text" "a"}', '{"text": "a" "b": 1}', '{"text": "\\x"}', '{"text": "\\u12g4"}',
    '{"text": "\\ud800"}', '{"text": "\\ud800\\u0041"}', '{"text": "a\tb"}', "{text: 1}",
    '{"text": "a", "b": 01}', '{"text": "a", "b": 1.}', '{"text": "a", "b": .5}',
    '{"text": "a", "b": -}', '{"text": "a", "b": 1e}', '{"text": "a", "b": nul}',
    '{"text": "a", "b": [1 2]}', '{"text": "a", "b": [1,]}', '{"text": "a", "b": {"c": 1]}',
    '{"text": "a", "b": {"c"}}', '{"text": "a", "b": {c: 1}}', '{"text": "a", "b": falsy}',
    '{"text": "a", "b": -Infinite}', '{"text": "a", "b": ' + 100_000 * "[" + "}",
    '{"text": "a", "b": ' + 100_000 * "[" + 100_000 * "]" + "}",
]  # fmt: skip


@pytest.mark.parametrize(("line", "text"), ODD_VALUES, ids=lambda odd: odd[:30])
def test_odd_lines_are_read_by_python(tmp_path, line, text):
    (tmp_path / "rows.jsonl").write_text(f"{GOOD}\n{line}\n{GOOD}\n")
    assert texts(tmp_path / "rows.jsonl") == ["a", text, "a"]


@pytest.mark.parametrize("line", BAD, ids=lambda bad: bad[:30])
def test_bad_lines_are_told(tmp_path, line):
    (tmp_path / "rows.jsonl").write_text(f"{GOOD}\n{line}\n{GOOD}\n{line}\n{GOOD}\n")
    with pytest.raises(BadRecords) as found:
        values(tmp_path / "rows.jsonl")
    assert [*found.value.faults] == [1, 3]


def test_deep_values_and_blank_lines(tmp_path):
    for depth in (60, 61):
        line = f'{{"text": "a", "d": {depth * "["}1e-5{depth * "]"}}}'
        (tmp_path / "rows.jsonl").write_text(line)
        assert texts(tmp_path / "rows.jsonl") == ["a"]
    lines = [GOOD, "", '{"b": [[], {}, [{}], -0.5E+7, true, false], "text": ""}', "  ", GOOD]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    assert texts(tmp_path / "rows.jsonl") == ["a", "", "a"]
