"""Near-duplicate documents: the clean corpus, preferences, another corpus, the report."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import corekernels as ck
from corekernels.report.duplicates import duplicates_report
from support import browser
from support.command_line import as_json, ok, run
from support.documents import make_documents, with_duplicates, write_json_lines

HOW = "--text text --ngrams 2 --weights binary --kernel resemblance --threshold 0.7"
SHINGLES = ck.text.Shingles(ngrams=2, weights="binary")


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    documents = with_duplicates(make_documents(60))
    documents.insert(30, dict(documents[3], key="exact", size=9))
    write_json_lines(tmp_path / "corpus.jsonl", documents)
    return documents


def similarities(documents, others=None):
    X = SHINGLES.transform([document["text"] for document in documents])
    Y = None if others is None else SHINGLES.transform([d["text"] for d in others])
    return ck.resemblance(X, Y)


def true_pairs(documents):
    i, j = np.nonzero(np.triu(similarities(documents) >= 0.7, 1))
    return list(zip(i.tolist(), j.tolist(), strict=True))


def read_pairs(path):
    with open(path) as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_pairs_are_those_of_the_exact_kernel(corpus):
    report = as_json(f"dedup corpus.jsonl pairs.tsv {HOW} --id key")
    lines = read_pairs("pairs.tsv")
    assert [(int(line["i"]), int(line["j"])) for line in lines] == true_pairs(corpus)
    assert all(line["name_i"] == corpus[int(line["i"])]["key"] for line in lines)
    assert all(line["name_j"] == corpus[int(line["j"])]["key"] for line in lines)
    assert report["pairs"] == len(lines) > 10
    assert report["copies"] == 1


def test_documents_are_sets_of_3_grams_of_words_unless_told_otherwise(corpus):
    as_json("dedup corpus.jsonl pairs.tsv --text text --threshold 0.6")
    X = ck.text.Shingles(ngrams=3, weights="binary").transform([d["text"] for d in corpus])
    i, j = np.nonzero(np.triu(ck.resemblance(X) >= 0.6, 1))
    assert len(i) > 10
    pairs = [(int(line["i"]), int(line["j"])) for line in read_pairs("pairs.tsv")]
    assert pairs == list(zip(i.tolist(), j.tolist(), strict=True))
    found = ck.deduplicate([document["text"] for document in corpus], 0.6)
    assert found.pairs.tolist() == [list(pair) for pair in pairs]


def test_a_killed_run_is_resumed_or_cleared(corpus):
    reader = ck.documents.open_documents("corpus.jsonl", shingles=SHINGLES)
    options = {"working_memory": 0.01, "progress": False}
    parts = Path(".pairs.tsv.unfinished")
    whole = ck.files.near_duplicates(reader, 0.7, "resemblance", parts=parts, **options)
    line = f"dedup corpus.jsonl pairs.tsv {HOW} --working-memory 0.01"
    result = run(f"{line} --resume --seed 1")
    assert result.exit_code == 2
    assert "the unfinished run had seed 0; resume it with the same" in result.stderr
    assert as_json(f"{line} --resume")["pairs"] == len(whole.pairs)
    assert not parts.exists()
    parts.mkdir()
    (parts / "job.json").write_text("{}")
    assert as_json(line)["pairs"] == len(whole.pairs)
    assert not parts.exists()
    assert run(f"dedup corpus.jsonl - {HOW} --resume").exit_code == 2


@pytest.mark.parametrize("prefer", ["first", "longest", "size"])
def test_one_document_of_each_group_stays(prefer, corpus):
    report = as_json(
        f"dedup corpus.jsonl pairs.tsv {HOW} --keep clean.jsonl --groups groups.tsv "
        f"--prefer {prefer}"
    )
    kept = Path("clean.jsonl").read_text().splitlines()
    lines = Path("corpus.jsonl").read_text().splitlines()
    groups = {}
    for line in read_pairs("groups.tsv"):
        groups.setdefault(int(line["group"]), []).append(int(line["row"]))
    assert set(map(frozenset, groups.values())) == set(_groups(true_pairs(corpus)))
    scores = {
        "first": lambda row: -row,
        "longest": lambda row: len(corpus[row]["text"]),
        "size": lambda row: corpus[row]["size"],
    }
    dropped = set()
    for stays, group in groups.items():
        assert scores[prefer](stays) == max(map(scores[prefer], group))
        assert stays == min(row for row in group if scores[prefer](row) == scores[prefer](stays))
        dropped |= set(group) - {stays}
    assert kept == [line for row, line in enumerate(lines) if row not in dropped]
    assert report["rows_kept"] == len(kept)


@pytest.mark.parametrize("prefer", ["first", "longest"])
@pytest.mark.parametrize("n_kept", [5, 50, 60, 70, 80])
def test_so_many_documents_stay(prefer, n_kept, corpus):
    line = f"dedup corpus.jsonl pairs.tsv {HOW} --keep clean.jsonl --prefer {prefer}"
    n_without = as_json(line)["rows_kept"]
    without = Path("clean.jsonl").read_text().splitlines()
    report = as_json(f"{line} --reduce-to {n_kept}")
    kept = Path("clean.jsonl").read_text().splitlines()
    assert report["rows_kept"] == len(kept) == n_kept
    assert f"{n_without} rows" in report["rule"]
    if n_kept >= n_without:
        assert set(without) <= set(kept)
        assert ("least similar" in report["rule"]) == (n_kept > n_without)
        return
    lengths = [len(json.loads(text)["text"]) for text in without]
    by_score = {
        "first": range(len(without)),
        "longest": np.argsort(-np.array(lengths), kind="stable"),
    }
    assert kept == [without[place] for place in sorted(by_score[prefer][:n_kept])]


def test_the_least_similar_come_back_first(corpus):
    as_json(f"dedup corpus.jsonl pairs.tsv {HOW} --keep clean.jsonl")
    n_without = len(Path("clean.jsonl").read_text().splitlines())
    as_json(f"dedup corpus.jsonl pairs.tsv {HOW} --keep more.jsonl --reduce-to {n_without + 1}")
    kept, more = (Path(f"{name}.jsonl").read_text().splitlines() for name in ("clean", "more"))
    (back,) = set(more) - set(kept)
    S = similarities(corpus) - 2 * np.eye(len(corpus))
    lines = Path("corpus.jsonl").read_text().splitlines()
    highest = S.max(axis=1)[[row for row, line in enumerate(lines) if line not in kept]]
    assert S.max(axis=1)[lines.index(back)] == highest.min()


def test_documents_are_compared_by_resemblance_unless_it_is_said(corpus):
    how = HOW.replace("--kernel resemblance ", "")
    assert as_json(f"dedup corpus.jsonl p.tsv {how}")["pairs"] == len(true_pairs(corpus))
    reader = ck.documents.open_documents("corpus.jsonl", shingles=SHINGLES)
    found = ck.files.near_duplicates(reader, 0.7, progress=False)
    assert [tuple(pair) for pair in found.pairs.tolist()] == true_pairs(corpus)


def _groups(pairs):
    groups = []
    for pair in pairs:
        near = [group for group in groups if group & set(pair)]
        groups = [group for group in groups if group not in near]
        groups.append(frozenset(pair).union(*near))
    return groups


@pytest.mark.parametrize("megabytes", [1024, 0.02])  # in memory, and with keys on the disk
def test_against_another_corpus(megabytes, corpus, tmp_path):
    test = [corpus[5], *make_documents(20, seed=7), corpus[5], corpus[3]]
    write_json_lines(tmp_path / "test.jsonl", test)
    report = as_json(
        f"dedup corpus.jsonl pairs.tsv {HOW} --against test.jsonl --keep clean.jsonl --id key "
        f"--working-memory {megabytes}"
    )
    i, j = np.nonzero(similarities(corpus, test) >= 0.7)
    lines = read_pairs("pairs.tsv")
    found = [(int(line["i"]), int(line["j"])) for line in lines]
    assert found == list(zip(i.tolist(), j.tolist(), strict=True))
    assert {3, 5, 30} <= set(i.tolist())
    assert all(line["name_j"] == test[int(line["j"])]["key"] for line in lines)
    keys = [json.loads(line)["key"] for line in Path("clean.jsonl").read_text().splitlines()]
    assert keys == [d["key"] for row, d in enumerate(corpus) if row not in set(i.tolist())]
    assert report["rows_near"] == len(set(i.tolist()))
    for extra in ("--groups g.tsv", "--prefer longest", "--copies-once", "--reduce-to 3 --keep k"):
        result = run(f"dedup corpus.jsonl p.tsv {HOW} --against test.jsonl {extra}")
        assert result.exit_code == 2
        assert "leave out" in result.stderr


def test_the_page_shows_what_was_found(corpus):
    """No column is pushed out of sight by long names, and none is so narrow that it is a band."""
    pytest.importorskip("jinja2")
    folder = "a-package-2.0-py3-none-any.whl/package/contrib/some-thing/locale/en/LC_MESSAGES"
    named = [dict(document, key=f"{folder}/{document['key']}.po") for document in corpus]
    write_json_lines(Path("named.jsonl"), named)
    ok(f"dedup named.jsonl pairs.tsv {HOW} --id key --page page.html")
    text = Path("page.html").read_text(encoding="utf-8")
    assert f"{len(read_pairs('pairs.tsv'))} pairs" in text
    assert "<code>changed</code>" in text
    assert text.count('<table class="prose">') == 1
    if browser.find_browser() is not None:
        browser.require_readable(Path("page.html"))


def test_report_of_rows_and_of_nothing(tmp_path):
    path = tmp_path / "rows.npy"
    ck.io.write_rows(path, np.eye(5))
    reader = ck.files.open_reader(path)
    found = ck.files.near_duplicates(reader, 0.9)
    report = duplicates_report(found, reader, threshold=0.9, kernel="core1")
    assert [section.name for section in report.sections] == ["similarity"]
    shutil.copy(path, tmp_path / "other.npy")
    others = ck.files.open_reader(tmp_path / "other.npy")
    matches = ck.files.near_duplicates(reader, 0.9, against=others)
    assert matches.pairs.tolist() == [[row, row] for row in range(5)]
    report = duplicates_report(matches, reader, others, threshold=0.9, kernel="core1")
    assert "5 of 5 documents" in report.lead[0]
