"""Every command, its help, its JSON and its errors."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import corekernels as ck
from support.command_line import as_json, ok, run, shell

COMMANDS = [
    "info", "hash", "convert", "kernel", "estimate", "plan", "train", "predict", "evaluate",
    "path", "advise", "version", "index", "search", "dedup", "frequencies",
    "warmup",
]  # fmt: skip


def example(command):
    text = ok(f"{command} --help").stdout
    found = re.search(r"Example:\s+corekernels (.+?)\s*\Z", text)
    assert found, text
    return found[1]


def test_all_commands_are_here():
    text = ok("--help").stdout
    assert sorted(re.findall(r"^  ([a-z]+) ", text.split("Commands:")[1], re.M)) == sorted(COMMANDS)
    assert "Exit codes" in text


def test_every_example_runs(in_digits):
    less = {"advise": " --time-limit 1 --rows 100 --cv 2"}  # the last of an option counts
    for command in COMMANDS:
        line = example(command)
        assert line.startswith(f"{command} ") or line == command
        if command == "warmup":
            continue
        result = ok(line + less.get(command, ""))
        if "--json" in line:
            json.loads(result.stdout)
    names = set(os.listdir(in_digits))
    assert {"train.sig", "train.npz", "K.npy", "K.npy.json", "model.ck", "labels.txt"} <= names
    assert {"train.index", "neighbours.tsv", "pairs.tsv", "unique.svm"} <= names
    assert {"advice.html", "path.html", "rows.html"} <= names
    assert not [name for name in names if name.startswith(".")]


@pytest.mark.slow
def test_warmup_compiles_everything():
    assert as_json(example("warmup"))["seconds"] > 0


def test_train_predict_evaluate_are_those_of_python(in_digits):
    X, y = ck.io.read_rows("train.svm")
    T, truth = ck.io.read_rows("test.svm", n_columns=X.shape[1])
    model = ck.CoREClassifier(n_hashes=128, random_state=3, C=2.0).fit(X, y)
    report = as_json("train train.svm m.ck --kernel core1 --n-hashes 128 --n-bits 8 --C 2 --seed 3")
    assert report["rows"] == 400
    assert report["classes"] == 10
    ok("predict m.ck test.svm labels.txt")
    assert Path("labels.txt").read_text().split() == [str(label) for label in model.predict(T)]
    found = as_json("evaluate m.ck test.svm")
    assert found["accuracy"] == model.score(T, truth)
    assert np.trace(found["confusion"]) == found["accuracy"] * found["rows"]
    table = ok("evaluate m.ck test.svm").stdout
    assert "precision" in table
    again = ck.CoREClassifier.load("m.ck")
    assert np.array_equal(again.decision_function(T), model.decision_function(T))


def test_rows_are_counted_as_the_ones_learned_from(in_digits):
    """svmlight text without a column 0 could count from 0 or 1; the model knows."""
    X = np.array([[3.0, 0, 1], [2, 0, 0], [0, 2, 0], [0, 3, 1]])
    Path("zero.svm").write_text("7 0:3 2:1\n7 0:2\n8 1:2\n8 1:3 2:1\n")
    Path("new.svm").write_text("0 1:5\n0 1:4\n")
    ok("train zero.svm m.ck --n-hashes 64")
    model = ck.CoREClassifier(n_hashes=64, random_state=0).fit(X, [7, 7, 8, 8])
    assert model.predict([[0, 5, 0]]) == [8]
    assert ok("predict m.ck new.svm -").stdout == "8\n8\n"
    assert ok("predict m.ck - -", input="0 1:5\n").stdout == "8\n"
    assert "values with commas" in run("predict m.ck - -", input="a,b\n1,2\n").stderr
    assert ok("predict m.ck new.svm - --one-based").stdout == "7\n7\n"
    ok("hash zero.svm zero.sig --n-hashes 64")
    found = as_json("estimate zero.sig --queries new.svm --nearest 1")["pairs"]
    assert [pair["j"] for pair in found] == [2, 2]
    ok("kernel new.svm K.npy --against zero.svm --zero-based")
    expected = np.load("K.npy")
    ok("kernel zero.svm K.npy --against new.svm")
    np.testing.assert_array_equal(np.load("K.npy"), expected.T)


def test_a_column_0_where_columns_count_from_1(in_digits):
    Path("zero.svm").write_text("7 0:3 2:1\n8 1:2\n")
    Path("one.svm").write_text("7 1:3 3:1\n8 2:2\n")
    ok("train one.svm one.ck --n-hashes 16")
    for line in ("info zero.svm --one-based", "predict one.ck zero.svm -"):
        result = run(line)
        assert result.exit_code == 2
        assert "has a column 0, but columns count from 1 in this file; pass --zero-based." in (
            result.stderr
        )
    assert ok("predict one.ck zero.svm - --zero-based").stdout.split() == ["7", "8"]


def test_appended_columns_count_from_where_they_did(tmp_path, monkeypatch):
    """Of the second file alone one could not tell: it has no column 0."""
    monkeypatch.chdir(tmp_path)
    Path("first.svm").write_text("1 0:1 2:3\n")
    Path("second.svm").write_text("1 1:2 3:1\n")
    ok("hash first.svm rows.sig --n-hashes 32 --n-columns 4")
    ok("hash second.svm rows.sig --n-hashes 32 --n-columns 4 --append")
    result = run("hash second.svm rows.sig --n-hashes 32 --n-columns 5 --append")
    assert "--n-columns 4 and 5; say the same --n-columns for both" in result.stderr
    S = ck.Signatures.load("rows.sig")
    ok(
        "hash second.svm rows.sig --n-hashes 32 --n-columns 4 --append --one-based"
    )  # if one says so
    X = np.array([[1.0, 0, 3, 0], [0, 2, 0, 1]])
    np.testing.assert_array_equal(
        S.codes, ck.CoREHasher(n_hashes=32, random_state=0).fit(X).sketch(X).codes
    )


def test_new_columns_are_refused_or_left_out_with_a_note(in_digits):
    Path("narrow.svm").write_text("7 1:3 2:1\n7 1:2\n8 2:2\n8 2:3\n")
    Path("wide.svm").write_text("7 1:3\n8 2:3 9:1\n")
    ok("train narrow.svm m.ck --n-hashes 64")
    ok("hash narrow.svm narrow.sig --n-hashes 64")
    for line in ("predict m.ck wide.svm out", "evaluate m.ck wide.svm",
                 "estimate narrow.sig --queries wide.svm",
                 "path narrow.svm --n-hashes 8 --Cs 1 --validation wide.svm"):  # fmt: skip
        result = run(line)
        assert result.exit_code == 2
        assert "has 9 columns, 2 were known before; leave the new ones out " in result.stderr
        assert "(--ignore-new-columns), or begin again with --n-columns 9." in result.stderr
        ok(f"{line} --ignore-new-columns")
    result = ok("predict m.ck wide.svm - --ignore-new-columns")
    assert result.stdout == "7\n8\n"
    assert "note: wide.svm: 1 values in columns that were not known before" in result.stderr
    text = Path("wide.svm").read_text()
    assert run("predict m.ck - -", input=text).exit_code == 2
    assert ok("predict m.ck - - --ignore-new-columns", input=text).stdout == "7\n8\n"


def test_kernel_is_that_of_python(in_digits):
    shape = as_json("kernel test.svm K.npy --kernel core2 --against train.svm --gamma 0.5")
    X, _ = ck.io.read_rows("train.svm")
    T, _ = ck.io.read_rows("test.svm", n_columns=X.shape[1])
    np.testing.assert_array_equal(np.load("K.npy"), ck.core2(T, X, gamma=0.5))
    assert (shape["rows"], shape["columns"]) == (200, 400)
    about = as_json("info K.npy")
    assert (about["kernel"], about["gamma"]) == ("core2", 0.5)
    assert as_json("kernel test.svm K.npy --kernel core_rbf")["gamma"] == 2
    assert as_json("info K.npy")["gamma"] == 2
    assert [entry["source"] for entry in about["sources"]] == ["test.svm", "train.svm"]
    ok("kernel test.svm K.npy --quiet")
    np.testing.assert_array_equal(np.load("K.npy"), ck.core1(T))
    os.rename("K.npy.json", "old.json")
    np.save("K.npy", np.eye(200))
    os.rename("old.json", "K.npy.json")
    assert as_json("info K.npy")["format"] == "npy"  # a description of another matrix is no use


def test_estimates_come_with_errors(in_digits):
    ok("hash train.svm train.sig --n-hashes 512")
    pairs = as_json("estimate train.sig --pair 0,1 --pair 7,3")["pairs"]
    X, _ = ck.io.read_rows("train.svm")
    for pair in pairs:
        exact = ck.core1(X[[pair["i"]]], X[[pair["j"]]])[0, 0]
        assert abs(pair["value"] - exact) < 5 * pair["standard_error"]
    found = as_json("estimate train.sig --queries train.svm --nearest 2")["pairs"]
    assert [pair["j"] for pair in found[::2]] == list(range(400))  # each is nearest to itself
    lines = ok("estimate train.sig --queries test.svm --nearest 1").stdout.splitlines()
    assert lines[0].split("\t") == ["i", "j", "value", "standard_error"]
    assert len(lines) == 201
    ok("hash test.svm test.sig --n-hashes 512 --n-columns 64")
    (pair,) = as_json("estimate train.sig --against test.sig --pair 399,199")["pairs"]
    assert (pair["i"], pair["j"]) == (399, 199)


def test_path_plots_and_saves_the_best_model(in_digits):
    line = "path train.svm --n-hashes 64 --Cs 0.01,1 --cv 3"
    found = as_json(f"{line} --plot path.svg --model best.ck")
    assert found["best_C"] in (0.01, 1)
    assert np.shape(found["scores"]) == (2, 3)
    assert Path("path.svg").read_text().startswith("<?xml")
    assert found["best_C"] == ck.CoREClassifier.load("best.ck").C
    on_others = as_json(f"{line} --validation test.svm")
    assert np.shape(on_others["scores"]) == (2, 1)
    assert "█" in ok(line).stdout


def test_info_describes_rows_signatures_and_models(in_digits):
    rows = as_json("info train.svm")
    X, y = ck.io.read_rows("train.svm")
    assert (rows["rows"], rows["columns"], rows["nonzeros"]) == (*X.shape, X.nnz)
    assert rows["classes"] == {str(c): int((y == c).sum()) for c in range(10)}
    unit = X / np.sqrt(X.multiply(X).sum(axis=1))[:, None]
    heaviness = (np.diff(X.indptr) * unit.power(4).sum(axis=1)).mean()
    assert rows["heaviness"] == pytest.approx(heaviness)
    assert rows["plan"]["kernel"] == "core1"
    text = ok("info train.svm").stdout
    assert "--n-hashes" in text
    assert re.search(r"memory +\S+ MB of signatures", text)
    assert rows["plan"]["n_bytes"] == 400 * rows["plan"]["bytes_per_row"]
    ok("train train.svm m.ck --n-hashes 16")
    assert as_json("info m.ck")["n_hashes"] == 16
    ok("hash train.svm s --n-hashes 16 --shard-rows 150")
    assert as_json("info s")["parts"] == 3


def test_convert_there_and_back(in_digits):
    ok("convert train.svm rows.npz")
    ok("convert rows.npz rows.parquet")
    ok("convert rows.parquet back.svm")
    assert Path("back.svm").read_text() == Path("train.svm").read_text()


def test_convert_to_a_format_without_labels(in_digits):
    result = run("convert train.svm train.npy")
    assert result.exit_code == 2
    assert "no place for labels; leave them out, where a file is read with --no-labels, or" in (
        result.stderr
    )
    ok("convert train.svm train.npy --no-labels")
    X, _ = ck.io.read_rows("train.svm")
    assert np.array_equal(np.load("train.npy"), X.toarray())
    ok("convert train.npy back.npy")  # which has none to leave out


def test_quiet_says_nothing(in_digits):
    for line in ("hash train.svm s --n-hashes 8", "train s m", "predict m test.svm out"):
        result = ok(f"{line} --quiet")
        assert result.output == ""


def test_plan_and_version():
    assert as_json("plan --error 0.05 --kernel resemblance --n-bits 16")["n_hashes"] == 288
    assert as_json("version")["corekernels"] == ck.__version__
    assert "hash contract" in ok("version").stdout
    assert ok("--version").stdout == f"corekernels {ck.__version__}\n"


def test_advise_prints_a_table_and_a_sentence(in_digits):
    X, y = ck.io.read_rows("train.svm")
    ck.io.write_rows("two.svm", X[y < 2], y[y < 2])  # classes: boosting grows trees for each
    line = "advise two.svm --size 32 --cv 2 --repeats 1 --time-limit 1000"
    found = as_json(f"{line} --plot advice.png")
    assert found["candidates"][0]["kind"] == "linear"
    assert Path("advice.png").read_bytes().startswith(b"\x89PNG")
    assert found["helps"] == (found["verdict"] == "core")
    table, sentence, imports, code = ok(line).stdout.rstrip().split("\n\n")
    assert len(table.splitlines()) == 1 + len(found["candidates"])
    assert sentence == found["sentence"]
    assert f"{imports}\n\n{code}" == found["best"]["estimator"]


def test_pipes_in_and_out(in_digits):
    ok("train train.svm m.ck --n-hashes 32")
    ok("predict m.ck test.svm labels.txt")
    result = shell("cat test.svm | corekernels predict m.ck - -")
    assert result.stderr == ""
    assert result.stdout == Path("labels.txt").read_text()


def test_a_closed_pipe_ends_quietly(in_digits):
    ok("hash train.svm train.sig --n-hashes 16")
    result = shell("corekernels estimate train.sig --queries train.svm --nearest 400 | head -1")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "i\tj\tvalue\tstandard_error\n"


@pytest.mark.parametrize(
    "line", ["hash train.svm out --n-hashes 512", "train train.svm out", "kernel train.svm out"]
)
def test_a_disk_that_fills_up(in_digits, line):
    """The system's limit on file size fails a write just as a full disk does."""
    Path("out").write_bytes(b"old")
    result = shell(f"ulimit -f 100; trap '' XFSZ; corekernels {line}")
    assert result.returncode == 2
    assert re.fullmatch(r"error: .+cannot be written \(File too large\).+\n", result.stderr)
    assert Path("out").read_bytes() == b"old"
    assert sorted(os.listdir()) == ["out", "test.svm", "train.svm"]


def test_a_missing_extra_is_named():
    code = "import sys; sys.modules['typer'] = None; from corekernels.__main__ import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert result.returncode == 2
    assert "pip install 'corekernels[cli]'" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_missing_plot_extra_is_named(in_digits, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("path train.svm --n-hashes 8 --plot p.png")
    assert result.exit_code == 2
    assert "corekernels[plot]" in result.stderr


def test_what_nobody_foresaw_is_code_1(in_digits, monkeypatch):
    def fails(*args, **kwargs):
        raise RuntimeError("surprise")

    monkeypatch.setattr("corekernels.planner.plan", fails)
    assert run("plan --error 0.1").exit_code == 1
