"""Several files, a folder or a pattern are read as one file of all their rows, by any command."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

import corekernels as ck
from corekernels import io
from corekernels.files.readers import SignatureReader
from support.command_line import as_json, ok, run
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
    assert as_json("info parts")["rows"] == 90


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
        patch.setattr("corekernels.files.hashing.HashJob._fill_here", half_of(killed))
        with pytest.raises(Killed):
            run(line)
    result = ok(f"{line} --resume")
    assert "note: shards: goes on with 2 finished parts of `hash`" in result.stderr
    ok(f"{line.replace('shards', 'whole')}")
    names = sorted(path.name for path in Path("whole").iterdir())
    for name in names:
        assert (Path("shards") / name).read_bytes() == (Path("whole") / name).read_bytes()
    assert sorted(path.name for path in Path("shards").iterdir()) == names


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
