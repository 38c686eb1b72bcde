"""Text on the command line: the same options everywhere, remembered by what was made with them."""

import os
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import corekernels as ck
from support.command_line import as_json, ok, run, shell
from support.documents import make_documents, write_json_lines

HOW = "--text text --ngrams 1-2 --weights binary --min-length 3"
SHINGLES = ck.text.Shingles(ngrams=(1, 2), weights="binary", min_length=3)


def _texts(documents):
    return [document["text"] for document in documents]


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    train, test = make_documents(150), make_documents(40, seed=5)
    write_json_lines(tmp_path / "train.jsonl", train)
    write_json_lines(tmp_path / "test.jsonl", test)
    return train, test


def test_train_predict_and_evaluate_are_those_of_python(corpus):
    train, test = corpus
    labels = [document["subject"] for document in train]
    model = ck.CoREClassifier(n_hashes=64, random_state=0)
    model.fit(SHINGLES.transform(_texts(train)), labels)
    ok(f"train train.jsonl m.ck {HOW} --label subject --n-hashes 64 --seed 0")
    ok("predict m.ck test.jsonl labels.txt --text text --id key")
    expected = model.predict(SHINGLES.transform(_texts(test)))
    lines = [f"{d['key']}\t{label}" for d, label in zip(test, expected, strict=True)]
    assert Path("labels.txt").read_text().splitlines() == lines
    found = as_json("evaluate m.ck test.jsonl --text text --label subject")
    assert found["accuracy"] == np.mean([d["subject"] for d in test] == expected)


@pytest.mark.parametrize("made", ["model", "index", "signatures"])
def test_other_settings_are_refused(made, corpus):
    if made == "model":
        ok(f"train train.jsonl x {HOW} --label subject --n-hashes 16")
        use = "predict x test.jsonl -"
    elif made == "index":
        ok(f"index train.jsonl x {HOW}")
        use = "search x test.jsonl -"
    else:
        ok(f"hash train.jsonl x {HOW} --n-hashes 16")
        use = "hash test.jsonl x --append --n-hashes 16"
    ok(f"{use} {HOW}")
    ok(f"{use} --text text")
    result = run(f"{use} --text text --ngrams 3 --unit words")
    assert result.exit_code == 2
    assert "ngrams [3, 3], not [1, 2]" in result.stderr
    ok(use)  # the column is that of the rows known before
    if made != "signatures":
        ck.io.write_rows("rows.npy", np.eye(3))
        result = run(use.replace("test.jsonl", "rows.npy"))
        assert "were made from text; name the column" in result.stderr


def test_search_by_file_and_by_words(corpus):
    train, test = corpus
    X, Q = SHINGLES.transform(_texts(train)), SHINGLES.transform(_texts(test))
    distances, ids = ck.CoRENeighbors(kernel="core2", n_neighbors=3).fit(X).kneighbors(Q)
    ok(f"index train.jsonl i {HOW} --id key --kernel core2")
    ok("search i test.jsonl found.tsv --text text --id key -k 3")
    lines = [line.split("\t") for line in Path("found.tsv").read_text().splitlines()[1:]]
    assert [line[0] for line in lines] == [d["key"] for d in test for _ in range(3)]
    assert [line[1] for line in lines] == [f"d{i}" for i in ids.ravel()]
    np.testing.assert_allclose([float(line[2]) for line in lines], 1 - distances.ravel(), atol=1e-6)
    words = test[0]["text"]
    found = as_json(f"search i -k 3 --query '{words}'")["found"][0]
    assert [entry["id"] for entry in found] == [f"d{i}" for i in ids[0]]
    assert f"d{ids[0][0]}" in ok(f"search i --query '{words}' --query rose").stdout
    assert "give one of them" in run("search i").stderr
    ck.CoRENeighbors().fit(np.eye(3)).save("rows.index")
    assert "not made from text" in run("search rows.index --query rose").stderr


def test_words_that_no_document_has_are_noted(corpus):
    ok(f"index train.jsonl i {HOW} --id key")
    known = corpus[0][0]["text"]
    result = ok(f"search i -k 2 --query zzzzz --query '{known}'")
    about = "nothing found; no document has a word, or n-gram, of it"
    assert result.stderr.splitlines() == [f"note: query 'zzzzz': {about}"]
    assert "0.0000" not in result.stdout
    result = ok("search i -k 2 --query zzzzz --json")
    assert (about in result.stderr, about in result.stdout) == (True, False)
    result = ok("search i --query zzzzz --quiet")
    assert (result.stdout, result.stderr) == ("", "")
    for query in ("", " ", "a"):
        result = run(f"search i --query '{query}' --query rose")
        assert result.exit_code == 2
        assert re.fullmatch(r"error: query: '.?' has no word to look up.*\n", result.stderr)


def test_documents_with_new_words(tmp_path, monkeypatch):
    """In a process of its own, which a fault would end by a signal."""
    monkeypatch.chdir(tmp_path)
    rng, shingles, rows = np.random.default_rng(0), ck.text.Shingles(weights="counts"), []
    for name, n_words in (("a", 12), ("b", 40)):
        words = [f"word{i}" for i in range(n_words)]
        texts = [" ".join(rng.choice(words, 20)) for _ in range(50)]
        write_json_lines(tmp_path / f"{name}.jsonl", [{"text": text} for text in texts])
        rows.append(shingles.transform(texts))
    made = shell("corekernels index a.jsonl a.index --text text --ngrams 1 --weights counts")
    assert made.returncode == 0, made.stderr
    found = shell("corekernels search a.index b.jsonl out.tsv --text text -k 3")
    assert found.returncode == 0, found.stderr
    lines = np.loadtxt("out.tsv", skiprows=1)
    similarities = ck.core1(*rows)[lines[:, 1].astype(int), lines[:, 0].astype(int)]
    np.testing.assert_allclose(lines[:, 2], similarities, atol=1e-6)


def test_every_command_takes_text(corpus):
    assert as_json(f"info train.jsonl {HOW}")["rows"] == 150
    ok(f"hash train.jsonl s {HOW} --label subject --n-hashes 16")
    assert as_json("train s m.ck")["classes"] == 3
    assert as_json(f"path train.jsonl {HOW} --label subject --n-hashes 16 --Cs 1 --cv 2")["best_C"]
    advice = as_json(f"advise train.jsonl {HOW} --label subject --rows 100 --size 16 --cv 2")
    assert {candidate["kind"] for candidate in advice["candidates"]} >= {"linear", "hashed"}
    assert as_json(f"kernel train.jsonl K.npy {HOW}")["rows"] == 150
    assert as_json(f"dedup train.jsonl pairs.tsv {HOW} --threshold 0.5")["rows"] == 150


def test_from_a_pipe_and_from_several_files(corpus):
    ok(f"hash train.jsonl whole {HOW} --n-hashes 16")
    piped = shell(f"cat train.jsonl | corekernels hash - piped {HOW} --n-hashes 16")
    assert piped.returncode == 0, piped.stderr
    lines = Path("train.jsonl").read_text().splitlines(keepends=True)
    for part in range(3):
        with open(f"part-{part}.jsonl", "w") as file:
            file.writelines(lines[50 * part : 50 * part + 50])
    ok(f"hash part-*.jsonl parts {HOW} --n-hashes 16")
    whole = ck.files.load_signatures("whole")[0]
    for other in ("piped", "parts"):
        S = ck.files.load_signatures(other)[0]
        assert all(np.array_equal(a, S.arrays()[name]) for name, a in whole.arrays().items())


def test_values_are_weighed_by_rarity(corpus):
    train, test = corpus
    how = "--text text --frequencies counts.idf"
    about = as_json("frequencies train.jsonl counts.idf --text text")
    X, Q = (ck.text.Shingles().transform(_texts(part)) for part in (train, test))
    counts = ck.text.InverseDocumentFrequency().fit(X)
    assert about["documents"] == 150
    assert about["digest"] == as_json("info counts.idf")["digest"] == counts.digest()
    X, Q = counts.transform(X), counts.transform(Q)
    index = ck.CoRENeighbors(kernel="correlation", n_neighbors=3).fit(X)
    distances, ids = index.kneighbors(Q)
    ok(f"index train.jsonl i {how} --kernel correlation")
    ok("search i test.jsonl found.tsv --text text -k 3")  # the index brings the counts
    lines = [line.split("\t") for line in Path("found.tsv").read_text().splitlines()[1:]]
    assert [int(line[1]) for line in lines] == ids.ravel().tolist()
    np.testing.assert_allclose([float(line[2]) for line in lines], 1 - distances.ravel(), atol=1e-6)
    found = as_json(f"search i -k 3 --query '{test[0]['text']}'")["found"][0]
    assert [entry["id"] for entry in found] == ids[0].tolist()
    ok("frequencies test.jsonl other.idf --text text")
    result = run("search i test.jsonl - --text text --frequencies other.idf")
    assert result.exit_code == 2
    assert ", with which the rows known before were made" in result.stderr
    ok(f"hash train.jsonl x --n-hashes 16 {how}")
    result = run("hash test.jsonl x --n-hashes 16 --text text --append")
    assert "--frequencies: None given, but the rows known before were weighed" in result.stderr


def test_frequencies_must_fit(corpus):
    ok("frequencies train.jsonl counts.idf --text text --weights counts")
    ok("frequencies test.jsonl other.idf --text text")
    use = "hash train.jsonl x --n-hashes 16 --text text"
    result = run(f"{use} --frequencies counts.idf --ngrams 2")
    assert "frequencies: documents were read with ngrams [2, 2], not [1, 1]" in result.stderr
    ok(f"{use} --frequencies counts.idf")
    more = use.replace("train", "test") + " --append"
    ok(f"{more} --frequencies counts.idf")
    assert "give the same file of them" in run(more).stderr
    assert "frequencies" in run(f"{more} --frequencies other.idf").stderr
    ok("hash train.jsonl y --n-hashes 16 --text text")
    result = run("hash test.jsonl y --n-hashes 16 --text text --append --frequencies other.idf")
    assert ", not None, with which the rows known before were made" in result.stderr
    assert run("hash x y --frequencies other.idf").exit_code == 2  # no documents


def bm25(texts, query):
    """Scores of documents, by the formula."""
    documents = [Counter(re.findall(r"\w\w+", text.lower())) for text in texts]
    mean = sum(map(Counter.total, documents)) / len(documents)
    scores = np.zeros(len(documents))
    for word in re.findall(r"\w\w+", query.lower()):
        df = sum(word in counts for counts in documents)
        idf = np.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
        for d, counts in enumerate(documents):
            length = 0.25 + 0.75 * counts.total() / mean
            scores[d] += idf * counts[word] * 2.2 / (counts[word] + 1.2 * length)
    return scores


def test_an_index_of_documents_is_asked_by_bm25(corpus):
    texts = _texts(corpus[0])
    about = as_json("index train.jsonl i --text text --id key")
    assert about["kernel"] == "inner_product"
    query = " ".join(texts[3].split()[:4]) + " " + texts[7].split()[0]
    expected = bm25(texts, query)
    found = as_json(f"search i -k 5 --query '{query}'")["found"][0]
    scores = [entry["similarity"] for entry in found]
    np.testing.assert_allclose(scores, -np.sort(-expected)[:5], rtol=1e-5)
    np.testing.assert_allclose(
        [expected[int(entry["id"][1:])] for entry in found], scores, rtol=1e-5
    )
    write_json_lines(Path("asked.jsonl"), [{"text": query}])
    ok("search i asked.jsonl found.tsv --text text -k 5")
    lines = [line.split("\t") for line in Path("found.tsv").read_text().splitlines()[1:]]
    assert [line[1] for line in lines] == [entry["id"] for entry in found]
    np.testing.assert_allclose([float(line[2]) for line in lines], scores, rtol=1e-5)
    assert (
        as_json("index train.jsonl i --text text --kernel inner_product")["kernel"]
        == about["kernel"]
    )
    assert as_json("index train.jsonl i --text text --weights log")["kernel"] == "core1"


def test_tfidf_made_at_indexing(corpus):
    train, test = corpus
    how = as_json("index train.jsonl i --text text --weights tfidf")
    assert how["kernel"] == "correlation"
    X, Q = (ck.text.Shingles().transform(_texts(part)) for part in (train, test))
    counts = ck.text.InverseDocumentFrequency().fit(X)
    index = ck.CoRENeighbors("correlation", 3).fit(counts.transform(X))
    distances, ids = index.kneighbors(counts.transform(Q))
    ok("search i test.jsonl found.tsv -k 3")
    lines = [line.split("\t") for line in Path("found.tsv").read_text().splitlines()[1:]]
    assert [int(line[1]) for line in lines] == ids.ravel().tolist()
    np.testing.assert_allclose([float(line[2]) for line in lines], 1 - distances.ravel(), atol=1e-6)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "index train.jsonl i --text text --weights bm25 --kernel core1",
            "give --kernel 'inner_product'",
        ),
        ("index train.jsonl i --weights bm25", "needs --text 'COLUMN'"),
        ("index train.jsonl i --text text --weights bm26", "weights: got 'bm26'"),
        ("hash train.jsonl i --text text --weights bm25", "bm25 is for an index of documents"),
        ("dedup train.jsonl i --text text --weights tfidf", "tfidf is for an index of documents"),
        ("dedup train.jsonl i --text text --kernel inner_product", "kernel"),
        (
            "hash train.jsonl i --text text --kernel inner_product",
            "inner_product is computed exactly only",
        ),
    ],
)
def test_weights_by_rarity_are_for_an_index(corpus, line, message):
    result = run(line)
    assert result.exit_code == 2
    assert message in result.stderr, result.stderr
    assert result.stderr.count("\n") == 1


def test_snippets_are_of_documents_that_are_as_they_were(corpus):
    text = "The garden. " * 30 + "A \x1b[31m rose\nis a thorny thing. " + "The end. " * 30
    os.makedirs("docs")
    write_json_lines(Path("docs/a.jsonl"), [{"text": "nothing of that"}, {"text": text}])
    ok("index docs/a.jsonl docs/i --text text")
    found = as_json("search docs/i --query 'thorny roses rose'")["found"][0]
    assert [entry["id"] for entry in found] == [1]
    assert "rose is a thorny thing. The end." in found[0]["snippet"]
    assert found[0]["snippet"].startswith("… ")
    assert "\x1b" not in ok("search docs/i --query rose").stdout
    os.rename("docs", "moved")  # together
    assert "thorny" in ok("search moved/i --query rose").stdout
    with open("moved/a.jsonl", "a") as file:
        file.write('{"text": "more"}\n')
    result = ok("search moved/i --query rose")
    assert "thorny" not in result.stdout
    assert result.stderr.startswith("note: no snippets: the documents are not where they were")
    ok("index - j --text text --format jsonl", input='{"text": "a rose"}\n')
    assert as_json("search j --query rose")["found"][0][0]["snippet"] is None


def test_snippets_leave_out_what_the_rows_left_out(corpus):
    Path("bad.jsonl").write_text('{"text": "a rose"}\n{"text": 5}\n{"text": "some thorn"}\n')
    ok("index bad.jsonl i --text text --skip-bad 1")
    found = as_json("search i --query thorn")["found"][0]
    assert [(entry["id"], entry["snippet"]) for entry in found] == [(1, "some thorn")]


def test_info_says_what_numbers_of_columns_and_values_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("zeros.csv").write_text("a,b\n0,0\n")
    Path("one.jsonl").write_text('{"text": "a rose"}\n')
    assert "values            all 0\n" in ok("info zeros.csv").stdout
    assert "columns           hashed (2^62)\n" in ok("info one.jsonl --text text").stdout
    assert as_json("info one.jsonl --text text")["columns"] == 2**62
    near = "near-duplicates   resemblance of 3-grams of words"
    assert near in ok("info one.jsonl --text text").stdout
    assert near not in ok("info zeros.csv").stdout
