"""Labels, names and file names with control characters: in files of lines, on screens, in pages."""

import json
import re
from pathlib import Path

import pytest

import corekernels as ck
from support.command_line import ok, run
from support.documents import make_documents, with_duplicates, write_json_lines

LABELS = {
    "garden": "two\nlines",
    "kitchen": 'tab\tand \\ and "quote"',
    "sea": "\x1b[31mred\x1b[0m\x00\x85\u2028é",
}
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]")
HOW = "--text text --ngrams 1"


def unescaped(field):
    """As docs/command-line.md says."""
    return json.loads('"' + field.replace('"', r"\"") + '"')


def lines_of(path):
    """Fields of each line, however lines are told apart."""
    text = Path(path).read_bytes().decode()
    assert text.splitlines() == text.split("\n")[:-1]
    return [[unescaped(field) for field in line.split("\t")] for line in text.splitlines()]


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """Documents whose labels and names are odd, in a file whose name is."""
    monkeypatch.chdir(tmp_path)
    documents = with_duplicates(make_documents(30))
    for row, document in enumerate(documents):
        document["subject"] = LABELS[document["subject"]]
        document["key"] = f"{list(LABELS.values())[row % 3]} {row}"
    write_json_lines(tmp_path / "a\x1b[1m.jsonl", documents)
    return documents


FILE = "'a\x1b[1m.jsonl'"


def test_fields_of_predictions_are_read_back(corpus):
    labels, names = [d["subject"] for d in corpus], [d["key"] for d in corpus]
    ok(f"train {FILE} m {HOW} --label subject --n-hashes 64 --loss log_loss --C 100")
    ok(f"predict m {FILE} labels.txt --text text")
    assert lines_of("labels.txt") == [[label] for label in labels]
    ok(f"predict m {FILE} named.tsv --text text --id key")
    assert lines_of("named.tsv") == [list(pair) for pair in zip(names, labels, strict=True)]
    for option in ("--scores", "--proba"):
        ok(f"predict m {FILE} scores.tsv --text text --id key {option}")
        header, *lines = lines_of("scores.tsv")
        assert header == ["name", "label", *sorted(LABELS.values())]
        assert [line[:2] for line in lines] == lines_of("named.tsv")
        assert {len(line) for line in lines} == {len(header)}
    ok(f"predict m {FILE} parts.tsv --text text --id key --proba --engine local")
    assert lines_of("parts.tsv") == lines_of("scores.tsv")


def test_fields_of_neighbours_and_pairs_are_read_back(corpus):
    names = [d["key"] for d in corpus]
    ok(f"index {FILE} i {HOW} --id key --weights log --kernel core1")
    assert ck.CoRENeighbors.load("i").names_ == names
    ok(f"search i {FILE} near.tsv -k 1 --text text --id key")
    assert [line[:2] for line in lines_of("near.tsv")[1:]] == [[name, name] for name in names]
    ok(f"search i {FILE} parts.tsv -k 1 --text text --id key --engine local")
    assert lines_of("parts.tsv") == lines_of("near.tsv")
    ok(f"dedup {FILE} pairs.tsv {HOW} --id key --threshold 0.5")
    pairs = lines_of("pairs.tsv")[1:]
    assert len(pairs) > 3
    assert all(line[3:] == [names[int(line[0])], names[int(line[1])]] for line in pairs)


def test_fields_of_ids_from_python_are_read_back(tmp_path):
    ids = ["one\ntwo", "one\ttwo", "one two"]
    index = ck.CoRENeighbors().fit([[1.0, 2], [1, 2], [0, 3]], ids=ids)
    found = index.near_duplicates(0.9)
    ck.files.write_pairs(found, tmp_path / "pairs")
    assert [line[:2] for line in lines_of(tmp_path / "pairs")[1:]] == [ids[:2]]
    ck.files.write_groups(found, tmp_path / "groups")
    assert sorted(lines_of(tmp_path / "groups")[1:]) == [[ids[1], ids[1]], [ids[0], ids[1]]]


def test_what_is_printed_has_no_control_characters(corpus):
    ok(f"train {FILE} m {HOW} --label subject --n-hashes 64")
    ok(f"index {FILE} i {HOW} --id key")
    text = corpus[0]["text"]
    printed = [
        ok(f"train {FILE} 'm\x1b[2m' {HOW} --label subject --n-hashes 64").output,
        ok("info m").stdout,
        ok(f"evaluate m {FILE} --text text --label subject").stdout,
        ok(f"search i --query '{text}' --query '\x1b[31m{text}' --text text").stdout,
        ok("search i --query 'never\x07seen' --text text").output,
        ok(f"dedup {FILE} 'p\x1b[2m' {HOW} --id key").stdout,
    ]
    for line in (
        "info 'no\x1b[31msuch'", f"info {FILE}", "predict m 'no\x1b[31msuch' -",
        f"info {FILE} --text '\x1b[31m'", f"info {FILE} '\x1b[31m'", f"info {FILE} '--\x1b[31m'",
        "'--\x1b[31m'", "'\x1b[31m'", f"info {FILE} --text text --page '\x1b[31m/p'",
        "info 'no\x1b[31m*' --text text", f"hash {FILE} out --text text --kernel '\x1b[31m'",
    ):  # fmt: skip
        result = run(line)
        assert result.exit_code == 2, line
        printed.append(result.output)
    assert [text for text in printed if CONTROL.search(text)] == []
    assert r"\u001b[31mred\u001b[0m\u0000\u0085\u2028é" in printed[2]
    assert [text for text in printed[6:] if not re.search(r"\\(u00|x)1b", text)] == []


def test_pages_have_no_control_characters(corpus):
    for line in (
        f"info {FILE} {HOW} --label subject --id key --page page.html",
        f"dedup {FILE} pairs {HOW} --id key --threshold 0.5 --page page.html",
        f"path {FILE} {HOW} --label subject --n-hashes 16 --Cs 1 --cv 2 --page page.html",
    ):
        ok(line)
        page = Path("page.html").read_bytes().decode()
        assert not CONTROL.search(page), line
        assert r"a\u001b[1m.jsonl" in page
