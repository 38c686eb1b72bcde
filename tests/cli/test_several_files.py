"""Several files, a folder or a pattern are read as one file of all their rows, by any command."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

import corekernels as ck
from corekernels import io
from corekernels.files.readers import SignatureReader
from corekernels.io.job_folder import JobFolder, unfinished_folder
from support.command_line import as_json, ok, run, shell
from support.documents import write_json_lines


@pytest.fixture(scope="module", autouse=True)
def several(tmp_path_factory):
    """Files of digits: `all.svm`, and the same rows in three files of `parts/`."""
    folder = tmp_path_factory.mktemp("several")
    X, y = load_digits(return_X_y=True)
    io.write_rows(folder / "all.svm", X[:90], y[:90])
    (folder / "parts").mkdir()
    for number, some in enumerate(np.split(np.arange(90), [20, 55])):
        io.write_rows(folder / "parts" / f"{number}.svm", X[some], y[some])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield


def written(line, rows):
    """What a command writes to `out`, given rows."""
    ok(line.format(rows=rows, out="out") + " --quiet")
    return Path("out").read_bytes()


@pytest.mark.parametrize("rows", ["parts", "'parts/*.svm'"])
@pytest.mark.parametrize(
    "line",
    [
        "convert {rows} {out} --to svmlight",
        "dedup {rows} {out} --threshold 0.5",
        "search index {rows} {out} -k 2",
        "predict model {rows} {out} --scores",
        "kernel {rows} {out} --kernel core2",
        "frequencies {rows} {out}",
    ],
)
def test_commands_write_what_they_write_for_one_file(line, rows):
    if not Path("model").exists():
        ok("train all.svm model --n-hashes 32 --tol 0.01 --quiet")
        ok("index all.svm index --quiet")
    assert written(line, rows) == written(line, "all.svm")


def test_hashing_and_learning():
    for name, rows in (("one", "all.svm"), ("more", "parts")):
        ok(f"hash {rows} {name}.sig --n-hashes 32 --quiet")
        ok(f"train {rows} {name}.ck --n-hashes 32 --tol 0.01 --quiet")
    one, more = (ck.files.load_signatures(f"{name}.sig") for name in ("one", "more"))
    for name, array in one[0].arrays().items():
        np.testing.assert_array_equal(more[0].arrays()[name], array)
    np.testing.assert_array_equal(one[1], more[1])
    sources = [origin.source for origin in SignatureReader("more.sig").provenance]
    assert sources == ["0.svm", "1.svm", "2.svm"]
    one, more = (ck.load_model(f"{name}.ck").linear_ for name in ("one", "more"))
    np.testing.assert_array_equal(one.coef_, more.coef_)
    assert as_json("evaluate more.ck parts") == as_json("evaluate one.ck all.svm")
    for rows in ("all.svm", "parts", "'parts/[0-2].svm'"):
        about = as_json(f"info {rows}")
        assert (about["rows"], about["columns"]) == (90, 64)
        ok(f"index {rows} x.index --quiet")
        assert as_json("info x.index")["rows"] == 90
    assert as_json("info more.sig")["rows"] == 90


def test_tables_are_learned_from_without_an_engine():
    X, y = load_digits(return_X_y=True)
    Path("tables").mkdir()
    for name, rows in (("whole", slice(90)), ("tables/0", slice(40)), ("tables/1", slice(40, 90))):
        io.write_rows(f"{name}.parquet", X[rows], y[rows])
    for name, rows in (("one", "whole.parquet"), ("more", "'tables/*.parquet'")):
        ok(f"train {rows} {name}.ck --n-hashes 32 --tol 0.01 --quiet")
        ok(f"predict {name}.ck {rows} {name}.txt --quiet")
        ok(f"dedup {rows} {name}.tsv --threshold 0.5 --quiet")
    one, more = (ck.load_model(f"{name}.ck").linear_ for name in ("one", "more"))
    np.testing.assert_array_equal(one.coef_, more.coef_)
    for kind in ("txt", "tsv"):
        assert Path(f"one.{kind}").read_bytes() == Path(f"more.{kind}").read_bytes()


def test_shards_are_those_of_an_engine():
    for name, more in (("here", ""), ("there", "--engine local")):
        ok(f"hash parts {name} --n-hashes 32 --shard-rows 15 --quiet {more}")
    here, there = (
        {path.name: path.read_bytes() for path in Path(name).iterdir()}
        for name in ("here", "there")
    )
    assert here == there
    assert [len(ck.Signatures.load(f"here/{name}")) for name in sorted(here)] == [
        15, 5, 15, 15, 5, 15, 15, 5,
    ]  # fmt: skip
    ok("predict one.ck 'here/*' out --quiet")
    ok("predict one.ck all.svm out2 --quiet")
    assert Path("out").read_bytes() == Path("out2").read_bytes()


def test_files_that_do_not_go_together():
    X, y = load_digits(return_X_y=True)
    io.write_rows("words-0.npz", X[:5], y[:5])
    io.write_rows("words-1.npz", X[:5], y[:5].astype(str))
    result = run("hash 'words-*.npz' x --n-hashes 8")
    assert "words-1.npz: its labels are words, those of words-0.npz are numbers" in result.stderr
    assert not Path("x").exists()
    assert run("hash 'nothing-*.npz' x").exit_code == 2


def test_what_an_unfinished_run_has_left_is_said(monkeypatch):
    class Killed(BaseException):
        pass

    def killed(*arguments):
        raise Killed

    line = "hash parts shards --n-hashes 32 --shard-rows 10"
    with monkeypatch.context() as patch:
        patch.setattr("corekernels.files.hashing.HashJob.fill", half_of(killed))
        with pytest.raises(Killed):
            run(line)
    result = ok(f"{line} --resume")
    assert "note: shards: goes on with 2 finished parts of `hash`" in result.stderr
    ok(f"{line.replace('shards', 'whole')}")
    names = sorted(path.name for path in Path("whole").iterdir())
    for name in names:
        assert (Path("shards") / name).read_bytes() == (Path("whole") / name).read_bytes()
    assert sorted(path.name for path in Path("shards").iterdir()) == names


@pytest.mark.parametrize(
    "line",
    [
        "hash parts {out} --n-hashes 32 --shard-rows 10",
        "hash all.svm {out} --n-hashes 32",
        "train parts {out} --n-hashes 32",
        "train parts {out} --n-hashes 32 --engine local",
        "train parts {out} --n-hashes 32 --engine local --merge",
        "predict model parts {out} --engine local",
        "search index parts {out} --engine local",
        "dedup parts {out}",
        "dedup parts {out} --engine local",
    ],
)
def test_another_job_is_said_and_refused(line, tmp_path):
    """With --resume; and without it, what that has left is removed."""
    if not Path("model").exists():
        ok("train all.svm model --n-hashes 32 --tol 0.01 --quiet")
        ok("index all.svm index --quiet")
    with JobFolder.open(unfinished_folder(tmp_path / "out"), {"job": "x"}, resume=False) as folder:
        folder.save("part")
    line = line.format(out=tmp_path / "out")
    result = run(f"{line} --resume")
    assert result.exit_code == 2
    assert f"note: {tmp_path / 'out'}: goes on with 1 finished part of `x`" in result.stderr
    assert "the unfinished run had job 'x'" in result.stderr
    assert folder.names() == ["part"]
    result = ok(line)
    left = "removes (--resume would go on with) 1 finished part of `x`"
    assert f"note: {tmp_path / 'out'}: {left}" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def half_of(end):
    """Hashing that ends after two parts."""
    from corekernels.files.hashing import HashJob

    pieces = HashJob.pieces

    def fill(job, store):
        reader = ck.files.open_reader("parts")
        for number, (piece, _) in enumerate(pieces(job, reader, 0)):
            if number == 2:
                end()
            store.add(piece, False)

    return fill


def test_a_model_of_text_knows_its_column():
    write_json_lines(
        Path("texts.jsonl"),
        [
            {"body": "one red rose" if number % 2 else "two blue thorns", "y": number % 2}
            for number in range(20)
        ],
    )
    ok("train texts.jsonl text.ck --text body --label y --n-hashes 32 --quiet")
    ok("predict text.ck texts.jsonl out --quiet")
    assert Path("out").read_text() == "0\n1\n" * 10
    result = ok("predict text.ck - -", input=Path("texts.jsonl").read_text())
    assert result.stdout == "0\n1\n" * 10
    table = "body,y\none red rose,0\ntwo blue thorns,1\n"
    assert "or name the format: csv, tsv" in run("predict text.ck - -", input=table).stderr
    assert ok("predict text.ck - - --format csv", input=table).stdout == "1\n0\n"
    # and `head` ends the command without a word
    with gzip.open("many.jsonl.gz", "wt") as file:
        file.writelines('{"body": "one red rose"}\n' for _ in range(60_000))
    result = shell("gzip -dc many.jsonl.gz | corekernels predict text.ck - - | head -3")
    assert (result.stdout, result.stderr) == ("1\n" * 3, "")
