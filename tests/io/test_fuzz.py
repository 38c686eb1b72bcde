"""Damaged files end in a `CoREError`, never in anything else."""

import bz2
import gzip
import io as streams
import warnings
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file
from scipy import sparse

import corekernels as ck
from corekernels import io
from corekernels.errors import CoREError
from support.damage import keep_if_asked

KINDS = ("svm", "svm.gz", "svm.bz2", "npz", "npy", "parquet", "signatures", "model", "index")
PIECES = (
    b"\0", b"\xff", b"\n", b" ", b":", b"#", b"nan", b"inf", b"-1", b"0", b"1e999", b"_", b"qid:1 ",
    b"9223372036854775808", b"99999999999999999999999", b"PK\x03\x04", b"\x93NUMPY", b"PAR1", b"{",
    b"|O", b"(1000000000000,", b"\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x1f\x8b", b"BZh9",
)  # fmt: skip


def seeds(folder, kind):
    """Sound files of one kind, as bytes, and how to pack what was changed in them."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((12, 20), density=0.2, format="csr", rng=rng)
    y = rng.integers(0, 3, 12)
    if kind in ("signatures", "model"):
        model = ck.CoREClassifier(n_hashes=4, n_bits=2, random_state=0).fit(X, y)
        (model if kind == "model" else model.sketch(X)).save(folder / kind)
        return [(folder / kind).read_bytes()]
    if kind == "index":
        found = []
        for method in ("exact", "graph", "lsh"):
            index = ck.CoRENeighbors(n_neighbors=1, method=method, recall=0.01, random_state=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # rows are few: it may be the exact search
                index.fit(np.vstack([X.toarray()] * 5) + 0.1).save(folder / method)
            found.append((folder / method).read_bytes())
        return found
    found = []
    for name, labels in (("a", y), ("b", np.array(["spam", "ham", "egg"])[y]), ("c", y + 0.5)):
        path = folder / f"{name}.{kind}"
        io.write_rows(path, X, None if kind == "npy" else labels)
        found.append(path.read_bytes())
    if kind == "npz":
        for form in ("csr", "csc", "coo"):
            sparse.save_npz(folder / form, X.asformat(form), compressed=False)
            found.append((folder / f"{form}.npz").read_bytes())
    if kind == "parquet":  # without checksums: damage gets further
        lists = {"indices": np.split(X.indices, X.indptr[1:-1])}
        lists["values"] = np.split(X.data.astype(np.float32), X.indptr[1:-1])
        for packing in ("none", "snappy"):
            path = folder / packing
            plain = {f"column {c}": X.toarray()[:, c] for c in range(3)}
            for columns in (lists, plain):
                pq.write_table(pa.table({**columns, "label": y}), path, compression=packing)
                found.append(path.read_bytes())
    if kind == "npy":
        np.save(folder / "e.npy", np.asfortranarray(X.toarray().astype(np.int16)))
        found.append((folder / "e.npy").read_bytes())
    return found


def mutated(raw, rng):
    """The bytes with a few changes: flipped, cut, put in, taken out, moved."""
    raw = bytearray(raw)
    for _ in range(rng.integers(1, 5)):
        size = max(1, len(raw))
        # the beginning and the end, where formats keep what they are, are hit more often
        place = int(rng.choice([rng.integers(size), rng.integers(min(size, 200)), size - 1]))
        place = max(0, place - int(rng.integers(60))) if place == size - 1 else place
        match rng.integers(6):
            case 0:
                raw[place : place + 1] = bytes([int(rng.integers(256))])
            case 1:
                del raw[place:]
            case 2:
                raw[place:place] = PIECES[rng.integers(len(PIECES))]
            case 3:
                piece = PIECES[rng.integers(len(PIECES))]
                raw[place : place + len(piece)] = piece
            case 4:
                del raw[place : place + int(rng.integers(1, 30))]
            case _:
                start = int(rng.integers(size))
                raw[place:place] = raw[start : start + int(rng.integers(1, 60))]
    return bytes(raw)


def mutated_member(raw, rng):
    """A zip with one array changed, and sound checksums all the same."""
    out = streams.BytesIO()
    with zipfile.ZipFile(streams.BytesIO(raw)) as old, zipfile.ZipFile(out, "w") as new:
        chosen = rng.integers(len(old.namelist()))
        for number, name in enumerate(old.namelist()):
            member = old.read(name)
            new.writestr(name, mutated(member, rng) if number == chosen else member)
    return out.getvalue()


def consume(path):
    """All that the package would do with a file whose kind it does not know."""
    kind = io.detect(path)
    if kind == "signatures":
        # loading maps the weights without looking at them: damage there shows in the estimates
        with np.errstate(all="ignore"):
            ck.Signatures.load(path).estimate(n_jobs=1)
    elif kind == "index":
        index = ck.CoRENeighbors.load(path)
        if index.n_features_in_ < 1000:
            assert np.isfinite(index.kneighbors(np.ones((2, index.n_features_in_)))[0]).all()
    elif kind == "model":
        model = ck.CoREClassifier.load(path)
        model.predict(np.ones((2, min(model.n_features_in_, 1000))))
    else:
        for batch in io.open_rows(path, batch_bytes=500):
            assert np.isfinite(batch.X.data).all()
            assert batch.X.has_canonical_format in (True, False)
            assert batch.y is None or len(batch.y) == batch.X.shape[0]


def run(folder, kind, n_files):
    rng = np.random.default_rng(KINDS.index(kind))
    sound = seeds(folder, kind)
    pack = {"svm.gz": gzip, "svm.bz2": bz2}.get(kind)
    path = folder / "mutant"
    n_refused = 0
    for _ in range(n_files):
        raw = sound[rng.integers(len(sound))]
        if pack is not None and rng.random() < 0.3:
            path.write_bytes(pack.compress(mutated(pack.decompress(raw), rng)))
        elif kind == "npz" and rng.random() < 0.5:
            path.write_bytes(mutated_member(raw, rng))
        else:
            path.write_bytes(mutated(raw, rng))
        try:
            consume(path)
        except CoREError:
            n_refused += 1
        except Exception as error:
            keep_if_asked(path)
            raise AssertionError(f"{kind}: {path.read_bytes()!r}") from error
    return n_refused


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_refused_cleanly(tmp_path, kind):
    assert run(tmp_path, kind, 300) > 100


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_ten_thousand_damaged_files(tmp_path, kind):
    assert run(tmp_path, kind, 10_000) > 3000


def test_a_foreign_safetensors_file(tmp_path):
    save_file(
        {"codes": np.zeros((3, 3))}, tmp_path / "foreign", {"format": "corekernels.classifier"}
    )
    with pytest.raises(CoREError):
        consume(tmp_path / "foreign")
