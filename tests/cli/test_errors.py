"""What is wrong with a command line: one line on standard error, code 2, and nothing is written."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

import corekernels as ck
from support.command_line import run
from support.documents import make_documents, with_duplicates, write_json_lines


@pytest.fixture(scope="module", autouse=True)
def folder(digit_files, tmp_path_factory):
    """A folder with sound and unsound files of all kinds, which no command here may change."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("errors"))
        for name in ("train.svm", "test.svm"):
            Path(name).symlink_to(digit_files / name)
        Path("empty").touch()
        Path("bad.svm").write_text("1 1:2\n1 3:1 2:1\n")
        Path("one.svm").write_text("7 1:1\n7 2:1\n")
        Path("text.md").write_text("# only a comment\nwords and words\n")
        Path("out").write_bytes(b"old")
        np.save("nan.npy", [[1.0, 2.0], [np.nan, 1.0]])
        np.save("plain.npy", np.eye(3))
        write_json_lines(Path("texts.jsonl"), with_duplicates(make_documents(20)))
        X, y = ck.io.read_rows("train.svm")
        ck.io.write_rows("words.svm", X[:4], ["a", "b", "a", "b"])
        ck.io.write_rows("values.npz", X, y + X.mean(axis=1))
        S = ck.CoREHasher(n_hashes=16, random_state=0).fit(X).sketch(X)
        S.save("train.sig", labels=y)
        S[:3].narrow(4).save("other.sig")
        model = ck.CoREClassifier(n_hashes=16, random_state=0).fit_signatures(S, y)
        model.save("model.ck")
        Path("forged.ck").write_bytes((2**40).to_bytes(8, "little") + b"{}")
        ck.CoRERegressor(n_hashes=8, random_state=0).fit(X, y).save("numbers.ck")
        ck.CoRENeighbors(method="exact").fit(X).save("train.index")
        yield


def contents():
    """The bytes of every file in the folder, which has no folders in it."""
    return {name: Path(name).read_bytes() for name in os.listdir()}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        # rows, signatures, models
        ("hash missing.svm out", "missing.svm: does not exist"),
        ("hash . out", "./empty: is empty"),
        ("hash bad.svm out", "bad.svm: line 2"),
        ("hash nan.npy out", "nan.npy: row 1 contains NaN"),
        ("hash train.svm no/where", "no/where"),
        ("hash train.svm out --kernel core3", "--kernel: got 'core3'"),
        ("hash train.svm out --n-bits 17", "--n-bits: got 17"),
        ("hash train.svm out --shard-rows 0", "--shard-rows: got 0"),
        ("hash - out", "--n-columns"),
        ("train train.svm out --C 0", "--C: got 0"),
        ("train plain.npy out", "plain.npy: has no labels"),
        ("train train.sig out --n-hashes 8", "train.sig was hashed with 16"),
        ("train model.ck out", "not rows"),
        ("predict train.svm train.svm out", "train.svm"),
        ("predict model.ck plain.npy out", "plain.npy: has 3 columns"),
        ("predict model.ck other.sig out", "recipes differ"),
        ("predict model.ck train.svm out --proba", "--proba: got 'probabilities', which a model"),
        ("hash trains*.svm out", "trains*.svm: no file matches"),
        ("evaluate forged.ck train.svm", "forged.ck"),
        ("kernel train.svm K.npy --kernel rbf", "kernel: got 'rbf'"),
        ("kernel train.sig K.npy", "train.sig: holds signatures"),
        ("estimate train.sig --pair 0,400", "train.sig: row 400"),
        ("estimate train.sig --pair zero", "--pair: got 'zero'"),
        ("estimate train.sig", "either --pair or --queries"),
        ("estimate train.svm --pair 0,1", "train.svm"),
        ("path train.svm --Cs one", "--Cs: got 'one'"),
        ("path train.svm --n-hashes 8 --plot p.bmp", "end it in .png"),
        ("plan", "either --error or --n-hashes"),
        ("convert train.svm rows.doc", "rows.doc"),
        ("convert train.sig rows.npz", "not rows"),
        ("advise plain.npy", "plain.npy: has no labels"),
        ("advise train.svm --cv 300", "classes have 300 rows"),
        ("advise train.svm --cv 1", "--cv: got 1"),
        ("advise train.svm --rows 0", "--rows: got 0"),
        ("advise train.svm --seed -1", "--seed: got -1"),
        ("advise train.sig", "train.sig: holds signatures"),
        ("info train.sig --page p.html", "--page: is for files of rows"),
        ("advise train.svm --page train.svm", "train.svm: is read or written already"),
        ("path train.svm --cv 1 --n-hashes 8", "--cv: got 1; give 2 folds or more"),
        ("path train.svm --cv 500 --n-hashes 8", "cv: "),
        ("plan --error 0.1 --n-rows -1", "--n-rows: got -1"),
        ("plan --error 0.1 --R 2", "--R: got 2"),
        ("plan --error 1e-300", "too many hashes"),
        ("predict model.ck test.svm .", "is a folder"),
        ("train train.svm . --n-hashes 8", "is a folder"),
        ("info text.md", "text.md"),
        # search and near-duplicates
        ("index train.svm out --method magic", "method: got 'magic'"),
        ("index train.svm out --recall 2", "recall: got 2"),
        ("index train.svm out --n-neighbors 0", "--n-neighbors: got 0"),
        ("index train.svm out --kernel rbf", "kernel: got 'rbf'"),
        ("index train.index out", "train.index: holds an index, not rows"),
        ("search missing test.svm out", "missing: does not exist"),
        ("search train.svm test.svm out", "train.svm: not a whole safetensors file"),
        ("search model.ck test.svm out", "model.ck: holds corekernels.classifier"),
        ("search train.index plain.npy out", "plain.npy: has 3 columns"),
        ("search train.index test.svm out -k 0", "--n-neighbors: got 0"),
        ("search train.index test.svm out -k -3", "--n-neighbors: got -3"),
        ("search train.index test.svm out --check -1", "--check: got -1"),
        ("search train.index test.svm .", "is a folder"),
        ("search train.index test.svm out --radius nan", "--radius: got nan"),
        ("search train.index test.svm out --radius 1 -k 3", "--radius: has no --n-neighbors"),
        ("search train.index bad.svm out", "bad.svm: line 2"),
        ("dedup missing.svm out", "missing.svm: does not exist"),
        ("dedup train.svm out --threshold 0", "threshold: got 0"),
        ("dedup train.svm out --threshold 1.5", "threshold: got 1.5"),
        ("dedup train.svm out --kernel rbf", "kernel: got 'rbf'"),
        ("dedup - out", "standard input: can be read only once"),
        ("dedup train.svm out --keep rows.doc", "rows.doc: its name does not tell a format"),
        ("path train.svm --validation test.svm --model test.svm", "test.svm: is read or written"),
        ("dedup train.svm out --groups ./out", "out: is read or written already"),
        ("dedup train.svm - --groups -", "-: is named for two outputs"),
        ("dedup train.svm no/where", "no/where: the folder no does not exist"),
        ("dedup train.svm out --working-memory 0", "--working-memory: got 0"),
        ("dedup train.index out", "holds an index, not rows"),
        ("dedup nan.npy out", "nan.npy: row 1 contains NaN"),
        # text
        ("hash texts.jsonl x --text body", "has no column 'body'; choose from: key, subject"),
        ("train texts.jsonl x --text text", "has no labels; give a file"),
        ("train texts.jsonl x --text text", "of the documents that does (--label 'COLUMN')"),
        ("hash texts.jsonl x", "documents, not rows; name their column of text (--text 'COLUMN')"),
        ("hash texts.jsonl x --text text --ngrams few", "--ngrams: got 'few'"),
        ("hash texts.jsonl x --text text --ngrams 3-1", "ngrams: got (3, 1)"),
        ("hash texts.jsonl x --text text --unit syllables", "unit: got 'syllables'"),
        ("hash texts.jsonl x --text text --n-columns 5", "are not for text"),
        ("hash train.svm x --label subject", "--label: got 'subject', but columns of train.svm"),
        ("hash train.svm x --id key", "--id: needs --text 'COLUMN', being for documents"),
        ("hash train.svm x --ngrams 2", "needs --text 'COLUMN', being for documents"),
        # values and probabilities
        ("train values.npz out", "values.npz: Unknown label type: real numbers"),
        ("train values.npz out", "or --regression for files"),
        ("train one.svm out", "one.svm: holds one class only (7)"),
        ("path one.svm --n-hashes 8", "one.svm: "),
        ("train values.npz out --regression --balanced", "--regression: has no --loss"),
        ("train words.svm out --regression --n-hashes 8", "words.svm: "),
        ("predict numbers.ck values.npz out --proba", "a regressor predicts values only"),
        ("predict numbers.ck values.npz out --scores", "a regressor predicts values only"),
        ("predict model.ck test.svm out --proba", "learn one with --loss log_loss"),
        ("predict model.ck test.svm out --proba --scores", "either --scores or --proba"),
        ("evaluate numbers.ck words.svm", "words.svm: labels such as a are no numbers"),
        (
            "dedup texts.jsonl out --text text --prefer subject",
            "documents are preferred by numbers",
        ),
        ("dedup plain.npy out --prefer longest", "is for documents"),
        ("dedup plain.npy out --reduce-to 2", "name their file"),
        ("dedup plain.npy out --keep k.npy --reduce-to 4", "there are 3 rows"),
    ],
)
def test_errors_are_one_line_and_code_2(line, message):
    before = contents()
    result = run(line)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert re.fullmatch(r"error: .+\n", result.stderr)
    assert contents() == before


def test_usage_errors_are_code_2():
    assert run("hash").exit_code == 2
    assert run("dance").exit_code == 2
    assert run("hash in out --n-hashes many").exit_code == 2
