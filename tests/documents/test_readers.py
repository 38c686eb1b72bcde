"""Documents from files of each format: the same rows, errors that name place and remedy, copies."""

import csv
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import corekernels as ck
from corekernels.errors import DataError, FileError
from corekernels.io.streams import PACKINGS

TEXTS = [
    "The first document, in plain words.",
    'quotes "inside", commas, and\ttabs',
    "",
    "Größe, déjà vu, ΟΔΥΣΣΕΥΣ",
    "several\nlines\r\nin one",
    "人人生而自由，在尊严和权利上一律平等。",  # noqa: RUF001
] * 7
LABELS = ["spam", "ham", "ham", "spam", "eggs", "ham"] * 7
RECORDS = [
    {"body": text, "label": label, "stars": row % 5, "key": f"doc-{row}"}
    for row, (text, label) in enumerate(zip(TEXTS, LABELS, strict=True))
]
BATCH_BYTES = 300  # several batches, some of them cut inside of documents


def json_lines(path):
    lines = [json.dumps(record, ensure_ascii=row % 2 == 0) for row, record in enumerate(RECORDS)]
    path.write_bytes("\n\n".join(lines).encode() + b"\n")


def delimited(path):
    file = io.StringIO(newline="")
    delimiter = "\t" if path.suffix == ".tsv" else ","
    writer = csv.DictWriter(file, RECORDS[0], delimiter=delimiter)
    writer.writeheader()
    writer.writerows(RECORDS)
    path.write_bytes(file.getvalue().encode())


def parquet(path):
    pq.write_table(pa.Table.from_pylist(RECORDS), path, row_group_size=10)


WRITERS = {"jsonl": json_lines, "csv": delimited, "tsv": delimited, "parquet": parquet}


@pytest.fixture(params=WRITERS)
def path(request, tmp_path):
    path = tmp_path / f"corpus.{request.param}"
    WRITERS[request.param](path)
    return path


def open_documents(path, text="body", **options):
    return ck.documents.open_documents(path, text, batch_bytes=BATCH_BYTES, **options)


def rows_of(reader):
    batches = list(reader)
    assert [b.first_row for b in batches] == np.cumsum([0, *map(len, batches)])[:-1].tolist()
    return ck.io.readers.joined(batches) if batches else None


def require_rows(reader, texts=TEXTS):
    found, expected = rows_of(reader), ck.text.Shingles().transform(texts)
    assert found.X.shape == expected.shape
    assert abs(found.X - expected).nnz == 0
    return found


class TestFormats:
    def test_rows_are_those_of_shingles(self, path):
        reader = open_documents(path, label="label")
        assert require_rows(reader).y.tolist() == LABELS
        assert require_rows(reader).y.tolist() == LABELS  # a second time

    def test_labels_are_numbers_where_all_are(self, path):
        y = rows_of(open_documents(path, label="stars")).y
        assert y.dtype.kind == "i"
        assert y.tolist() == [record["stars"] for record in RECORDS]

    def test_several_columns_are_joined(self, path):
        both = [f"{record['body']}\n{record['key']}" for record in RECORDS]
        require_rows(open_documents(path, ["body", "key"]), both)

    def test_missing_column_is_named_beside_those_there_are(self, path):
        with pytest.raises(DataError, match=r"no column 'texts'; choose from: body, label, stars"):
            rows_of(open_documents(path, "texts"))

    def test_some_texts(self, path):
        reader = open_documents(path)
        wanted = np.array([40, 1, 3])
        assert reader.texts(wanted) == {row: TEXTS[row] for row in sorted(wanted.tolist())}
        assert reader.names(wanted) == {}
        assert open_documents(path, id="key").names(wanted)[40] == "doc-40"

    def test_copies_keep_order_and_columns(self, path, tmp_path):
        kept = np.arange(len(TEXTS)) % 3 != 1
        target = tmp_path / f"kept{path.suffix}"
        assert open_documents(path).write_without(target, np.flatnonzero(~kept)) == kept.sum()
        some = [record for record, stays in zip(RECORDS, kept, strict=True) if stays]
        copy = open_documents(target, label="label", id="key")
        assert require_rows(copy, [r["body"] for r in some]).y.tolist() == [
            r["label"] for r in some
        ]
        assert rows_of(copy).names == [record["key"] for record in some]

    def test_several_files_and_patterns(self, path, tmp_path):
        WRITERS[path.suffix[1:]](tmp_path / f"corpus-2{path.suffix}")
        for source in (tmp_path / f"corpus*{path.suffix}", sorted(tmp_path.glob("corpus*"))):
            reader = open_documents(source)
            require_rows(reader, TEXTS * 2)
            assert reader.texts([45]) == {45: TEXTS[45 - len(TEXTS)]}
        kept = np.arange(2 * len(TEXTS)) % 2 == 0
        reader.write_without(tmp_path / f"kept{path.suffix}", np.flatnonzero(~kept))
        require_rows(open_documents(tmp_path / f"kept{path.suffix}"), (TEXTS * 2)[::2])


@pytest.mark.parametrize("packing", PACKINGS, ids=lambda packing: packing.name)
def test_compressed(packing, tmp_path):
    path = tmp_path / "corpus.jsonl"
    json_lines(path)
    packed = tmp_path / f"corpus.jsonl{packing.suffix}"
    with open(packed, "wb") as file:
        packer = packing.pack(file)
        packer.write(path.read_bytes())
        packer.close()
    reader = open_documents(packed)
    assert reader.format == "jsonl"
    require_rows(reader)
    target = tmp_path / f"kept.jsonl{packing.suffix}"
    reader.write_without(target, np.empty(0, np.int64))
    assert packing.is_start_of(target.read_bytes()[:10])
    require_rows(open_documents(target))


class TestLines:
    def test_one_document_per_line(self, tmp_path):
        path = tmp_path / "corpus.txt"
        path.write_bytes(b"\xef\xbb\xbfone line\r\n\nthe third, without an end")
        require_rows(open_documents(path, "text"), ["one line", "", "the third, without an end"])

    def test_other_columns_are_refused(self, tmp_path):
        path = tmp_path / "corpus.txt"
        path.write_text("words\n")
        with pytest.raises(DataError, match=r"no column 'body'; choose from: text"):
            rows_of(open_documents(path))


class TestFolder:
    @pytest.fixture
    def folder(self, tmp_path):
        root = tmp_path / "notes"
        for place, text in {"b.txt": "second", "a/z.md": "first", ".hidden": "never"}.items():
            (root / place).parent.mkdir(parents=True, exist_ok=True)
            (root / place).write_text(text)
        return root

    def test_documents_in_the_order_of_paths(self, folder):
        reader = open_documents(folder, "text", id="path")
        require_rows(reader, ["first", "second"])
        assert reader.names([0, 1]) == {0: "a/z.md", 1: "b.txt"}

    def test_copy(self, folder, tmp_path):
        target = tmp_path / "kept"
        assert open_documents(folder, "text").write_without(target, np.array([1])) == 1
        assert (target / "a/z.md").read_text() == "first"
        assert not (target / "b.txt").exists()
        with pytest.raises(FileError, match="exists already"):
            open_documents(folder, "text").write_without(target, np.array([1]))

    def test_not_utf8_names_the_file(self, folder):
        (folder / "c.txt").write_bytes(b"caf\xe9")
        with pytest.raises(DataError, match=r"c\.txt: is not valid UTF-8 \(byte 3: 0xe9\)"):
            rows_of(open_documents(folder, "text"))

    def test_tables_are_not_text(self, folder):
        parquet(folder / "x.parquet")
        with pytest.raises(FileError, match=r"by a pattern, as .*/\*\.parquet"):
            open_documents(folder, "text")


class TestErrors:
    @pytest.mark.parametrize(
        ("line", "message"),
        [
            (b'{"body": 1', "is not JSON"),
            (b'["a", "b"]', "is no JSON object"),
            (b'{"body": "a"}{"body": "b"}', "is not JSON"),
            (b'{"body": null}', "has no 'body'"),
            (b'{"text": "a"}', "has no column 'body'; choose from: text"),
            (b'{"body": 17}', "has '17' as 'body', which is no text"),
            (b'{"body": [17]}', "has a list as 'body', which is no text"),
            (b'{"body": "caf\xe9"}', "is not valid UTF-8"),
        ],
    )
    def test_lines_that_are_not_right(self, line, message, tmp_path):
        path = tmp_path / "corpus.jsonl"
        json_lines(path)
        with open(path, "ab") as file:
            file.write(line + b"\n")
        with pytest.raises(DataError, match=rf"document 43 \(line 84\) {message}") as found:
            rows_of(ck.documents.open_documents(path, "body"))
        assert str(path) in str(found.value)

    def test_a_single_json_value(self, tmp_path):
        path = tmp_path / "corpus.json"
        path.write_text(json.dumps(RECORDS, indent=1))
        with pytest.raises(
            DataError, match=r"document 1 \(line 1\) is not JSON.*write one JSON object per"
        ):
            rows_of(open_documents(path))

    @pytest.mark.parametrize("rows", [[], RECORDS])
    def test_null_in_parquet(self, rows, tmp_path):
        path = tmp_path / "corpus.parquet"
        pq.write_table(pa.Table.from_pylist([*rows, RECORDS[0] | {"body": None}]), path)
        message = f"document {len(rows) + 1} has no 'body'|column 'body' is of type null"
        with pytest.raises(DataError, match=message):
            rows_of(open_documents(path))

    def test_column_of_numbers(self, path):
        if path.suffix in (".csv", ".tsv"):
            require_rows(open_documents(path, "stars"), [str(r["stars"]) for r in RECORDS])
        else:
            with pytest.raises(DataError, match=r"'stars'.* give a column of text"):
                rows_of(open_documents(path, "stars"))

    def test_record_with_too_many_fields(self, tmp_path):
        path = tmp_path / "corpus.csv"
        path.write_text('body,label\nfirst,1\n"two\nlines",2\nthird,3,4\n')
        with pytest.raises(DataError, match=r"document 3 \(line 5\) has 3 fields, the header 2"):
            rows_of(open_documents(path))

    def test_quote_that_is_not_closed(self, tmp_path):
        path = tmp_path / "corpus.csv"
        path.write_text('body,label\nfirst,1\n"second,2\nthird,3\n')
        with pytest.raises(DataError, match="quote that is not closed"):
            rows_of(open_documents(path))

    def test_csv_that_is_not_utf8(self, tmp_path):
        path = tmp_path / "corpus.csv"
        path.write_bytes(b"body,label\nfirst,1\ncaf\xe9,2\n")
        with pytest.raises(
            DataError, match=r"document 2 \(line 3\) is not valid UTF-8 \(byte 3: 0xe9\)"
        ):
            rows_of(open_documents(path))

    def test_labels_of_two_kinds(self, tmp_path):
        path = tmp_path / "corpus.csv"
        lines = [f"text,{row}" for row in range(100)] + ["text,many"] * 100
        path.write_text("\n".join(["body,label", *lines]))
        with pytest.raises(
            DataError, match=r"document 101 \(line 102\) has the label 'many', others are numbers"
        ):
            rows_of(open_documents(path, label="label"))

    def test_unknown_name_and_content(self, tmp_path):
        path = tmp_path / "corpus"
        path.write_text("who knows")
        with pytest.raises(FileError, match="name the format: jsonl, csv"):
            open_documents(path)
        require_rows(open_documents(path, "text", format="lines"), ["who knows"])

    def test_pattern_without_match(self, tmp_path):
        with pytest.raises(FileError, match="no file matches"):
            open_documents(tmp_path / "*.jsonl")
