"""Odd records: the rows that Python's own readers give, or one line of error."""

import csv
import io
import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import corekernels as ck
from corekernels.documents import open_documents
from corekernels.errors import CoREError

ANYTHING = object()  # quotes that mean nothing: readers may take them as they like
DEEP = 990 * "[" + 990 * "]"
JSON_VALUES = (
    '"a rose"', '""', "null", "true", "NaN", "-Infinity", "1e999", "5" * 5000, "9" * 23, "-0.5",
    DEEP, '{"a": 1}', '"\\ud800"', '"\\ud83d\\ude00"', '"\\u0000"', '"a\\tb\\nc"', '"\\x1b"',
    '"é\u2028"', '"a" ', "01", "'a'", "", "[1,]",
)  # fmt: skip
PIECES = (
    b'"', b'""', b",", b"\t", b"\r", b"\r\n", b"\0", b"\xff", b"\xed\xa0\x80", b"\\",
    b"\xef\xbb\xbf",
    b"{", b"}", b":", b" ", b"\x1b[31m", b"\xc3\xa9", b"9" * 30, b"1:2", b"#", b"nan", b"-",
    b"x" * 140_000,
)  # fmt: skip


def mutated(record, rng):
    """The record with a few pieces put in, in place of others or taken out."""
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        place = int(rng.integers(len(record) + 1))
        piece = PIECES[rng.integers(len(PIECES) - (rng.random() < 0.95))]
        end = place + int(rng.integers(4))
        record = record[:place] + (piece if rng.random() < 0.8 else b"") + record[end:]
    return record


def json_lines(rng):
    """A file with one odd line, and its texts; none if there is no right answer."""
    text = rng.choice(JSON_VALUES) if rng.random() < 0.3 else '"a \\"rose\\" \\u00e9"'
    record = f'{{"text": {text}, "label": {rng.choice(JSON_VALUES)}}}'
    good = b'{"text": "no thorn", "label": 1}'
    content = b"\n".join([good, mutated(record.encode(), rng), good])
    try:
        lines = [line for line in content.split(b"\n") if any(byte > 32 for byte in line)]
        found = [
            json.loads(line.decode(errors="surrogateescape"), parse_int=float) for line in lines
        ]
        texts = [record["text"].encode().decode() for record in found]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return content, None
    return content, texts


def delimited(delimiter):
    """The same of a table, as `csv` reads it."""
    csv.field_size_limit(1 << 20)

    def table(rng):
        fields = [mutated(b"a rose", rng), mutated(b"1", rng)]
        if rng.random() < 0.5:
            fields = [b'"' + field.replace(b'"', b'""') + b'"' for field in fields]
        record, head = delimiter.encode().join(fields), b"text" + delimiter.encode() + b"label"
        ending = (b"\n", b"\r\n", b"\r")[rng.integers(3)]
        content = ending.join([mutated(head, rng) if rng.random() < 0.2 else head, record, b""])
        try:
            lines = io.StringIO(
                content.removeprefix(b"\xef\xbb\xbf").decode(errors="surrogateescape"), newline=""
            )
            header, *records = csv.reader(lines, delimiter=delimiter, strict=True)
            records = [record for record in records if record]
            place, widths = header.index("text"), {len(record) for record in (header, *records)}
        except csv.Error:
            return content, ANYTHING
        except ValueError:
            return content, None
        texts = [record[place] for record in records] if len(widths) == 1 else ["\udcff"]
        is_right = not any("\udc80" <= sign <= "\udcff" for text in texts for sign in text)
        return content, texts if is_right and len(set(header)) == len(header) else None

    return table


def plain_lines(rng):
    """The same of a document per line."""
    content = b"\n".join([b"a rose", mutated(b"is a rose", rng), b"end", b""])
    try:
        lines = content.removeprefix(b"\xef\xbb\xbf").decode().split("\n")[:-1]
    except UnicodeDecodeError:
        return content, None
    return content, [line.removesuffix("\r") for line in lines]


def parquet(rng):
    """The same of a column of some type."""
    values = [b"a rose", mutated(b"is", rng), None if rng.random() < 0.1 else b"end"]
    kind = rng.choice(["string", "large_string", "binary", "int64", "bool", "list", "dictionary"])
    texts = None
    if kind in ("string", "large_string", "dictionary"):
        column = pa.array(values, pa.binary()).cast(
            pa.large_binary() if "large" in kind else pa.binary()
        )
        column = column.view(pa.large_string() if "large" in kind else pa.string())
        if None not in values:
            try:
                texts = [value.decode() for value in values]
            except UnicodeDecodeError:
                texts = None
        column = column.dictionary_encode() if kind == "dictionary" and texts else column
    elif kind == "list":
        column = pa.array([[value] for value in values], pa.list_(pa.binary()))
    else:
        column = pa.array(values, kind) if kind == "binary" else pa.array([1, 0, None]).cast(kind)
    file = io.BytesIO()
    pq.write_table(pa.table({"text": column}), file)
    return file.getvalue(), texts


def svmlight(rng):
    """The same of a row of numbers, which are lists of columns and values."""
    record = b"1 " + b" ".join(
        b"%d:%r" % (c, v) for c, v in zip((1, 4, 9), rng.random(3).tolist(), strict=True)
    )
    content = b"\n".join([b"1 2:1", mutated(record, rng), b"0 3:0.5 11:2", b""])
    rows = []
    try:
        for line in content.removeprefix(b"\xef\xbb\xbf").decode().split("\n"):
            label, *tokens = line.partition("#")[0].split() or [""]
            tokens = tokens[tokens[:1] != [] and tokens[0].startswith("qid:") :]
            row = {int(column): float(value) for column, value in (t.split(":") for t in tokens)}
            if not all(map(math.isfinite, row.values())) or list(row) != sorted(row):
                return content, None
            rows += [row] if label else []
    except ValueError:
        return content, None
    base = not any(0 in row for row in rows)
    return content, [[(c - base, v) for c, v in row.items() if v] for row in rows]


FORMATS = {
    "jsonl": json_lines, "csv": delimited(","), "tsv": delimited("\t"), "txt": plain_lines,
    "parquet": parquet, "svm": svmlight,
}  # fmt: skip


def read(path, label):
    """The rows of a file."""
    reader = ck.io.open_rows(path) if label is None else open_documents(path, label=label or None)
    return ck.io.readers.read_all(reader).X


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("n_records", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_odd_records_give_right_rows_or_one_line_of_error(tmp_path, kind, n_records):
    rng, shingles = np.random.default_rng(0), ck.text.Shingles(n_jobs=1)
    path, n_read = tmp_path / f"odd.{kind}", 0
    for _ in range(n_records):
        content, expected = FORMATS[kind](rng)
        path.write_bytes(content)
        label = None if kind == "svm" else "label" if kind == "jsonl" and rng.random() < 0.3 else ""
        try:
            X = read(path, label)
        except CoREError as error:
            message = str(error)
            assert f"odd.{kind}" in message, content
            assert "\n" not in message, content
            assert len(message) < 1000, content
            continue
        n_read += 1
        assert expected is not None, content
        if kind == "svm":
            found = [list(zip(X[[r]].indices.tolist(), X[[r]].data.tolist(), strict=True))
                     for r in range(X.shape[0])]  # fmt: skip
            assert found == expected, content
        elif expected is not ANYTHING:
            assert abs(X - shingles.transform(expected)).nnz == 0, content
            assert X.shape[0] == len(expected), content
    assert n_records / 20 < n_read < n_records
