"""safetensors files: one descriptor for everything, headers that are not trusted."""

import contextlib
import json
import subprocess
import sys
import time

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import corekernels as ck
from corekernels import files, io
from corekernels.errors import DataError, FileError

SAVER = """
import corekernels as ck
models = [ck.CoREClassifier.load(f"model-{number}") for number in range(2)]
print("ready", flush=True)
while True:
    for model in models:
        model.save("model")
"""


@contextlib.contextmanager
def process(code, folder):
    """A Python process that says when it is ready, ended afterwards."""
    running = subprocess.Popen(
        [sys.executable, "-c", code], cwd=folder, stdout=subprocess.PIPE, text=True
    )
    try:
        assert running.stdout.readline() == "ready\n"
        yield running
    finally:
        running.kill()
        running.wait()
        running.stdout.close()


def test_a_file_that_is_replaced_while_it_is_loaded(tmp_path):
    """One process saves two models in turn; what another loads is always one of them, whole."""
    X = np.random.default_rng(0).random((40, 6))
    known = {}
    for number, C in enumerate((0.01, 1.0)):
        y = np.arange(40) % 2
        model = ck.CoREClassifier(n_hashes=16, n_bits=2, C=C, random_state=number).fit(X, y)
        model.save(tmp_path / f"model-{number}")
        known[C] = model.decision_function(X[:1])
    model.save(tmp_path / "model")
    found = dict.fromkeys(known, 0)
    with process(SAVER, tmp_path) as saver:
        end = time.monotonic() + 60
        while sum(found.values()) < 1000 and time.monotonic() < end:
            loaded = ck.load_model(tmp_path / "model")
            scores = loaded.decision_function(X[:1])
            np.testing.assert_array_equal(scores, known[loaded.C])
            found[loaded.C] += 1
        assert saver.poll() is None
    assert min(found.values()) > 30


def rows_file(path, seed):
    X = np.random.default_rng(seed).random((20, 5))
    io.write_rows(path, X, np.arange(20) if path.suffix != ".npy" else None)


@pytest.mark.parametrize(
    "name", ["rows.svm", "rows.svm.gz", "rows.npz", "rows.npy", "rows.parquet"]
)
def test_rows_that_are_replaced_after_they_were_opened(tmp_path, name):
    rows_file(tmp_path / name, 0)
    reader = io.open_rows(tmp_path / name)
    assert sum(map(len, reader)) == 20
    rows_file(tmp_path / name, 1)
    with pytest.raises(FileError, match=f"{name}: changed while it was read; begin again"):
        list(reader)


def test_signatures_that_are_replaced_after_they_were_opened(tmp_path):
    X = np.random.default_rng(0).random((20, 5))
    for n_hashes in (8, 16):
        S = ck.CoREHasher(n_hashes=n_hashes, random_state=0).fit(X).sketch(X)
        S.save(tmp_path / "rows")
        if n_hashes == 8:
            reader = files.open_reader(tmp_path / "rows")
    for use in (list, lambda reader: reader.read(), lambda reader: reader.take([0])):
        with pytest.raises(FileError, match="rows: changed while it was read; begin again"):
            use(reader)


def test_the_format_is_that_of_safetensors(tmp_path):
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.arange(3, dtype=np.uint8)}
    io.save_arrays(tmp_path / "mine", "signatures", 1, arrays, {})
    theirs = load_file(tmp_path / "mine")
    save_file(arrays, tmp_path / "theirs", {"format": "corekernels.signatures"})
    for name, array in arrays.items():
        np.testing.assert_array_equal(theirs[name], array)
    with pytest.raises(FileError, match="theirs: its description is damaged"):
        io.load_arrays(tmp_path / "theirs", "signatures", 1)
    names = ["x" * 1000] * 100_001
    with pytest.raises(DataError, match="names of classes and columns take 100,"):
        io.save_arrays(tmp_path / "long", "signatures", 1, arrays, names)


def container(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def array(shape=(2,), begin=0, end=16, dtype="F64"):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


GOOD = {"__metadata__": {"format": "corekernels.x", "version": "1", "about": "{}"}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "does not fit"),
        (b"\xff" * 100, "does not fit"),
        (container(b"[]"), "its header is damaged"),
        (container(b"[" * 100_000), "nested too deeply"),
        (container(b'{"a":' * 100_000), "nested too deeply"),
        (container(b"{" + b" " * 40), "not a whole"),
        (container(b'{"a": 1' + b"0" * 9999 + b"}"), "not a whole"),
        (container({"__metadata__": 3}), "metadata are damaged"),
        (container({"__metadata__": {"format": 3}}), "metadata are damaged"),
        (container({"a": array()}, bytes(15)), "15 bytes|asks for"),
        (container({"a": array()}, bytes(17)), "asks for"),
        (container({"a": array((3,))}, bytes(16)), "its shape asks for"),
        (container({"a": array(), "b": array()}, bytes(16)), "'b' does not follow"),
        (container({"a": array(), "b": array((1,), 24, 32)}, bytes(32)), "'b' does not follow"),
        (container({"a": array((-2,))}, bytes(16)), "entry of array 'a' is damaged"),
        (container({"a": array((2.0,))}, bytes(16)), "entry of array 'a' is damaged"),
        (container({"a": array((True, 2))}, bytes(16)), "entry of array 'a' is damaged"),
        (container({"a": array((0, 2**70), 0, 0)}), "entry of array 'a' is damaged"),
        (container({"a": array((1,) * 90, 0, 8)}, bytes(8)), "entry of array 'a' is damaged"),
        (container({**GOOD, "a": array((0, 2**62, 2**62), 0, 0)}), "arrays cannot be read"),
        (container({"a": array(dtype="BOOL")}, bytes(16)), "entry of array 'a' is damaged"),
        (container({"a": [1, 2]}), "entry of array 'a' is damaged"),
        (container(b'{"a": {}, "a": {}}'), "a name occurs twice"),
        (container({"__metadata__": {"format": "corekernels.y"}}), "holds corekernels.y, not"),
        (
            container({"__metadata__": {**GOOD["__metadata__"], "version": "9" * 5000}}),
            "is in version 99999999999999999999 of its format",
        ),
        (container({"__metadata__": {**GOOD["__metadata__"], "about": "[" * 9999}}), "too deeply"),
        (
            container({"__metadata__": {**GOOD["__metadata__"], "version": "2"}}),
            "is in version 2 of its format, this corekernels reads version 1; make it again",
        ),
    ],
)
def test_headers_that_make_no_sense(tmp_path, content, message):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(FileError, match=f"file: .*({message})"):
        io.load_arrays(tmp_path / "file", "x", 1)


@pytest.mark.parametrize("mmap", [True, False])
def test_arrays_that_lie_askew(tmp_path, mmap):
    """A header of odd length: allowed, though no writer that we know makes one."""
    values = np.arange(2.0)
    (tmp_path / "file").write_bytes(container({**GOOD, "a": array()}, values.tobytes()))
    assert (tmp_path / "file").stat().st_size % 8
    arrays, _ = io.load_arrays(tmp_path / "file", "x", 1, mmap=mmap)
    assert arrays["a"].flags.aligned
    assert arrays["a"].tolist() == [0, 1]
