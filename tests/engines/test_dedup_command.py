"""`dedup --engine` writes the same files as without it, whatever the options."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from corekernels import files, io
from corekernels.files.sources import reader_of
from support.command_line import as_json, run
from support.documents import make_documents, with_duplicates, write_json_lines

TEXT = "--text text --ngrams 2 --weights binary --kernel resemblance --threshold 0.7 --id key"
TABLES = "--working-memory 0.02"  # too little to search exactly, so that tables are used


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """Documents in three files, others to compare them with, and rows in one file and in four."""
    monkeypatch.chdir(tmp_path)
    documents = with_duplicates(make_documents(60))
    documents.insert(30, dict(documents[3], key="exact", size=9))
    for number, some in enumerate(np.array_split(np.array(documents), 3)):
        write_json_lines(tmp_path / f"corpus-{number}.jsonl", some.tolist())
    others = [documents[5], *make_documents(20, seed=7), documents[5], documents[3]]
    write_json_lines(tmp_path / "test.jsonl", others)
    rng = np.random.default_rng(0)
    X = np.vstack([rng.lognormal(size=(60, 30)) * (rng.random((60, 30)) < 0.4)] * 2)
    X[60:90] *= rng.random((30, 30)) < 0.98
    X, y = sparse.csr_array(X), rng.integers(0, 3, len(X))
    io.write_rows("rows.svm", X, y)
    Path("rows").mkdir()
    for number, some in enumerate(np.array_split(np.arange(len(y)), 4)):
        io.write_rows(f"rows/{number}.svm", X[some], y[some])
    return tmp_path


def both(line, engine_line=None):
    """Outputs of a command on one machine and by parts; `{}` in its names tells them apart."""
    one = as_json(line.format(*["one"] * 9))
    other = as_json(f"{(engine_line or line).format(*['parts'] * 9)} --engine local --workers 2")
    assert not list(Path.cwd().glob(".*.unfinished"))
    one["target"] = other["target"] = ""
    assert one == other
    assert one["pairs"] >= 4
    for path in Path.cwd().glob("one*"):
        twin = path.with_name(path.name.replace("one", "parts"))
        assert contents(path) == contents(twin), path


def contents(path):
    """The bytes of a file, or of all files in a folder."""
    if path.is_file():
        return path.read_bytes()
    return {str(one.relative_to(path)): one.read_bytes() for one in path.rglob("*.txt")}


@pytest.mark.parametrize("prefer", ["first", "longest", "size"])
def test_documents(corpus, prefer):
    both(
        f"dedup corpus-*.jsonl {{}}.tsv {TEXT} {TABLES} --groups {{}}-groups.tsv "
        f"--keep {{}}-kept.jsonl --prefer {prefer}"
    )


def test_documents_against_others(corpus):
    both(f"dedup corpus-*.jsonl {{}}.tsv {TEXT} {TABLES} --against test.jsonl --keep {{}}.jsonl")


def test_page(corpus):
    pytest.importorskip("jinja2")
    both(f"dedup corpus-*.jsonl {{}}.tsv {TEXT} {TABLES} --page {{}}.html")


@pytest.mark.parametrize("more", ["", "--copies-once", "--threshold 0.9 --seed 3"])
def test_rows_with_labels(corpus, more):
    line = (
        f"dedup {{}} {{{{}}}}.tsv {TABLES} --groups {{{{}}}}-groups --keep {{{{}}}}-kept.svm {more}"
    )
    both(line.format("rows.svm"), line.format("rows"))


def test_rows_against_others(corpus):
    shutil.copy("rows/3.svm", "other.svm")
    line = f"dedup {{}} {{{{}}}}.tsv {TABLES} --against other.svm --keep {{{{}}}}.npz"
    both(line.format("rows.svm"), line.format("rows"))


def test_a_failed_run_is_resumed(corpus):
    line = f"dedup 'corpus-*.jsonl' out.tsv {TEXT} --engine local"
    whole = Path("corpus-1.jsonl").read_bytes()
    Path("corpus-1.jsonl").write_bytes(whole[:-20] + b"\n")
    assert "corpus-1.jsonl" in run(line).stderr
    stored = Path(".out.tsv.unfinished/parts/rows-00000")
    before = stored.stat().st_ino
    Path("corpus-1.jsonl").write_bytes(whole)
    assert "the unfinished run had threshold 0.7" in run(f"{line} --resume --threshold 0.8").stderr
    assert stored.stat().st_ino == before
    found = as_json(f"{line} --resume")
    assert found["pairs"] == as_json(f"dedup corpus-*.jsonl other.tsv {TEXT}")["pairs"]
    assert not stored.parent.parent.exists()


def test_what_is_refused(corpus):
    for line, message in (
        (f"corpus-*.jsonl - {TEXT}", "a cluster writes to files"),
        ("rows out --prefer longest", "--prefer: is for documents"),
        ("rows out --kernel containment", "containment is not found by hash tables"),
        ("rows out --threshold 0.1", "threshold: pairs of core1 of 0.1 are not found"),
        ("rows out --against other --groups g", "leave out --groups"),
        ("rows out --keep kept.doc", "kept.doc: its name does not tell a format"),
        ("rows rows/out", "is read or written already"),
    ):
        result = run(f"dedup {line} --engine local")
        assert result.exit_code == 2
        assert message in result.stderr


def test_a_folder_of_texts(corpus):
    """Each file is a document, as on one machine."""
    Path("texts/inner").mkdir(parents=True)
    for number, document in enumerate(with_duplicates(make_documents(20))):
        folder = "texts/inner" if number % 3 else "texts"
        Path(folder, f"{number:03d}.txt").write_text(document["text"])
    options = "--text text --id path --ngrams 2 --weights binary --kernel resemblance"
    both(f"dedup texts {{}}.tsv {options} {TABLES} --keep {{}}-kept")
    plan = files.plan_parts(
        files.open_engine("local", workers=1), "texts", part_rows=7, text="text"
    )
    assert [part.rows for part in plan.parts[:2]] == [7, 7]
    rows = sparse.vstack([b.X for part in plan.parts for b in part.open()])
    whole = sparse.vstack([b.X for b in reader_of(plan)])
    assert (rows != whole).nnz == 0
    assert rows.shape[0] == plan.n_rows
