"""Signatures, models and indexes whose arrays and fields were changed: refused, or right.

Unlike changes of bytes (`test_fuzz`), these leave a container that is sound in itself, so that
only what its parts mean can give the damage away.
"""

import contextlib
import json
import os
import warnings

import numpy as np
import pytest

import corekernels as ck
from corekernels.errors import CoREError
from corekernels.io.containers import read_container, save_arrays
from support.clusters import clustered
from support.damage import keep_if_asked

KINDS = (
    "core1 signatures", "core2 signatures", "classifier", "regressor", "exact", "scan", "graph",
    "lsh", "inverted", "wide",
)  # fmt: skip
EXACT = {"resemblance": ck.resemblance, "core1": ck.core1, "core2": ck.core2}
SIZES = (-1, 0, 1, 2, 3, 7, 255, 256, 65_535, 65_536, 2**31 - 1, 2**31, 2**63 - 1)
MEMORY = 3 << 30  # more than any of it takes, and far less than a damaged size would


def rows(kind):
    rng = np.random.default_rng(0)
    if kind == "scan":
        return np.where(rng.random((60, 40)) < 0.5, rng.normal(size=(60, 40)), 0)
    if kind == "wide":
        X = clustered(80, 300, 12)
        X.resize(80, 200_000)
        return X
    return clustered(80, 300, 12)


def sound_file(path, kind):
    """A small file of a kind."""
    X = rows(kind)
    y = np.array(["egg", "ham", "spam"])[np.arange(X.shape[0]) % 3]
    if "signatures" in kind:
        hasher = ck.CoREHasher(kind.split()[0], 8, n_bits=3, random_state=0).fit(X)
        hasher.sketch(X[:20]).save(path, labels=y[:20])
    elif kind == "classifier":
        ck.CoREClassifier(n_hashes=8, n_bits=3, random_state=0, max_iter=5, tol=9).fit(X, y).save(
            path
        )
    elif kind == "regressor":
        ck.CoRERegressor(n_hashes=8, n_bits=3, random_state=0).fit(X, np.arange(len(y))).save(path)
    else:
        method = kind if kind in ("graph", "lsh", "inverted") else "exact"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            index = ck.CoRENeighbors("core1", 3, method=method, recall=0.3, random_state=0)
            index.fit(X[:50], ids=np.arange(100, 150))
        assert index.method_ == method
        index.add(X[50:])
        index.remove([101, 102]).save(path)


def changed_array(array, rng):
    """The array with some items, its shape or its type changed."""
    array = array.copy()
    flat = array.reshape(-1)
    if array.dtype.kind == "f":
        with np.errstate(over="ignore"):
            values = np.array([0, -1, 1e-30, 1e30, np.nan, np.inf, -np.inf]).astype(array.dtype)
    else:
        limits = np.iinfo(array.dtype)
        values = [v for v in (*SIZES, -(2**31)) if limits.min <= v <= limits.max]
        values += [limits.min, limits.max, array.size, max(0, len(array) - 1)]
        values = np.array([v for v in values if limits.min <= v <= limits.max], array.dtype)
    match rng.integers(9):
        case 0 if array.size:
            flat[rng.integers(array.size)] = rng.choice(values)
        case 1 if array.size:
            flat[rng.integers(array.size)] = flat[rng.integers(array.size)]
        case 2 if array.size:
            array[...] = rng.choice([flat[0], flat[-1], rng.choice(values)])
        case 3:
            array = array[::-1].copy() if array.ndim else array
        case 4:
            rng.shuffle(flat)
        case 5 if array.ndim:
            array = array[: rng.integers(len(array) + 1)].copy()
        case 6 if array.ndim:
            array = np.concatenate([array, array[: rng.integers(1, 4)]])
        case 7:
            other = rng.choice(["uint8", "uint16", "int32", "int64", "float32", "float64"])
            with np.errstate(invalid="ignore"):
                array = array.astype(other)
        case _ if array.size:
            n = rng.integers(1, 1 + min(array.size, 5))
            flat[rng.integers(array.size, size=n)] = rng.choice(values, n)
    return array


def places(node, path=()):
    """All nodes of a JSON tree, by the way to them."""
    yield path
    inner = node.items() if isinstance(node, dict) else ()
    for key, value in enumerate(node[:5]) if isinstance(node, list) else inner:
        yield from places(value, (*path, key))


def strange_value(old, rng):
    deep = []
    for _ in range(int(rng.integers(1, 300))):
        deep = [deep]
    choices = [
        None, True, False, -1, 0, 1, 2, 3, 8, 300, 65_536, 65_537, 2**31, 2**63, 2**64, 10**30, 0.5,
        1e300, float("inf"), float("nan"), "", "core1", "core2", "resemblance", "exact", "graph",
        "lsh", "inverted", "<U100000000", "object", "<i8", "<f4", "x" * 10_000, [], {}, [old],
        {"a": old}, deep, [old, old],
    ]  # fmt: skip
    if isinstance(old, int) and not isinstance(old, bool):
        choices += [old + 1, old - 1, 2 * old, -old, float(old), str(old)] * 4
    if isinstance(old, list):
        choices += [old[::-1], old[:-1], old + old[-1:]] * 4
    return choices[rng.integers(len(choices))]


def changed_fields(about, rng):
    """A description with one of its fields replaced or left out."""
    about = json.loads(json.dumps(about))
    ways = list(places(about))
    way = ways[rng.integers(len(ways))]
    if not way:
        return strange_value(about, rng)
    node = about
    for key in way[:-1]:
        node = node[key]
    if isinstance(node, dict) and rng.random() < 0.1:
        del node[way[-1]]
    else:
        node[way[-1]] = strange_value(node[way[-1]], rng)
    return about


def damage(sound, path, kind, rng):
    """Write a container with one or two arrays or fields changed."""
    arrays, about = dict(sound.arrays), sound.about
    for _ in range(rng.integers(1, 3)):
        if rng.random() < 0.5:
            about = changed_fields(about, rng) if isinstance(about, dict) else about
            continue
        name = list(arrays)[rng.integers(len(arrays))]
        if rng.random() < 0.05:
            del arrays[name]
        else:
            arrays[name] = changed_array(arrays[name], rng)
        if not arrays:
            break
    save_arrays(path, sound.kind, 1, arrays, about, durable=False)


def use(path, kind, mmap):
    """All that can be done with a file; what comes back is checked."""
    if "signatures" in kind:
        S = ck.Signatures.load(path, mmap=mmap)
        ck.files.load_signatures(path)
        assert np.isfinite(S.estimate(n_jobs=1)).all()
        assert np.isfinite(S.to_csr().sum(axis=1)).all()
        y = np.arange(len(S)) % 2
        linear = ck.linear.HashedLinearClassifier(max_iter=3, tol=9, random_state=0, n_jobs=1)
        assert np.isfinite(linear.fit(S, y).decision_function(S)).all()
    elif kind in ("classifier", "regressor"):
        model = ck.load_model(path)
        Q = rows(kind)[:5].toarray()[:, : model.n_features_in_]
        if model.n_features_in_ == Q.shape[1]:
            score = model.predict if kind == "regressor" else model.decision_function
            assert np.isfinite(score(Q)).all()
            assert len(model.predict(Q)) == 5
    else:
        use_index(ck.CoRENeighbors.load(path, mmap=mmap), rows(kind)[:3])


def use_index(index, Q):
    if index.n_features_in_ != Q.shape[1]:
        return
    n_before = index.n_samples_fit_
    for again in range(2):
        distances, ids = index.kneighbors(Q)
        assert distances.shape[1] == min(index.n_neighbors, index.n_samples_fit_)
        assert np.isin(ids, index.ids_).all()
        check_distances(index, Q, distances, ids)
        index.radius_neighbors(Q, 0.5)
        if not again:
            index.add(Q)
            index.remove(index.ids_[:1])
    assert index.n_samples_fit_ == n_before + 2
    index.near_duplicates(0.9)


def check_distances(index, Q, distances, ids):
    """Distances are one minus the kernel values of the rows that stand in the index."""
    store, positions = index._snapshot.living()
    stored = store.rows()
    X = np.zeros((len(store), store.n_columns) if store.n_columns < 1000 else (1, 1))
    if X.shape[1] == 1 and store.n_columns != 1:
        return
    for row in range(len(store)):
        some = slice(stored.indptr[row], stored.indptr[row + 1])
        X[row, stored.indices[some]] = stored.data[some]
    dense = Q if isinstance(Q, np.ndarray) else Q.toarray()
    K = EXACT[index.kernel](dense.astype(np.float64), X)
    place = {int(i): p for p, i in enumerate(index._snapshot.ids[positions])}
    for q in range(len(dense)):
        true = [1 - K[q, place[int(i)]] for i in ids[q]]
        np.testing.assert_allclose(distances[q], true, atol=1e-6)


@contextlib.contextmanager
def memory_limit(n_bytes):
    """Let no more than so many bytes be taken in the block, where the system can see to it."""
    if not os.path.exists("/proc/self/statm"):
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def run(folder, kind, n_files):
    """How many of so many damaged files were refused."""
    sound_file(folder / "sound", kind)
    kinds = ("signatures", "classifier", "regressor", "index")
    sound = read_container(folder / "sound", kinds, 1, mmap=False)
    use(folder / "sound", kind, mmap=True)
    rng = np.random.default_rng(KINDS.index(kind))
    n_refused = 0
    with memory_limit(MEMORY):
        for number in range(n_files):
            damage(sound, folder / "damaged", kind, rng)
            try:
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    use(folder / "damaged", kind, mmap=number % 2 == 0)
            except CoREError:
                n_refused += 1
            except BaseException as error:
                keep_if_asked(folder / "damaged")
                raise AssertionError(f"{kind}, file {number}") from error
    return n_refused


@pytest.mark.parametrize("kind", KINDS)
def test_changed_arrays_and_fields(tmp_path, kind):
    assert run(tmp_path, kind, 100) > 30


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_ten_thousand_changed_arrays_and_fields(tmp_path, kind):
    n_refused = run(tmp_path, kind, 10_000)
    print(f"{kind}: {n_refused} of 10,000 refused, the others right")
    assert n_refused > 3000
