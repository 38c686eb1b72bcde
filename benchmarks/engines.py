"""Near-neighbour search beside the engines that people use: recall against time.

    COREKERNELS_DATA=... python benchmarks/engines.py --texts descriptions.jsonl [--only seismic]

Every engine answers the same 1,000 held-out queries for their 10 nearest rows, and is judged by the
true kernel values of the rows it gives: recall is the share that are as near as the tenth nearest
row of all. Each runs in a process of its own, in one thread. Times are processor time, the
best of several rounds, of all queries in one call (`microseconds`) and of one query per call
(`single_microseconds`, at the setting nearest to recall .95); memory is what the process grew by
while the index was built. Curves hold the settings that no other beats in both recall and time.
Engines that are not installed, or not through in time, are named in the result. Writes
benchmarks/results/engines.json; with --only, --data or --kernels only what is named is measured
anew.

Texts are those of benchmarks/descriptions_corpus.py, BM25 weights of their 60,000 commonest words
but stop words; images are MNIST, news 20 Newsgroups by TF-IDF.
"""

import argparse
import itertools
import json
import math
import os
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

import corekernels as ck
import measure
import search

SEED, K, N_QUERIES = 0, 10, 1000
RESULTS = Path(__file__).parent / "results" / "engines.json"
RECALLS = (0.8, 0.9, 0.95, 0.98, 0.99)
WIDTHS = (10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)  # of a graph's beam
SHOWN = (0.9, 0.95, 0.98, 0.99)  # recalls in tables
FEW = 30_000  # rows for engines that do not get through more in time
ALL = ("correlation", "inner_product", "resemblance")
PRODUCTS = ALL[:2]


def texts(path):
    """BM25 rows of the documents of a file: to index, and held out."""
    with open(path, encoding="utf-8") as file:
        documents = [json.loads(line)["text"] for line in file]
    words = CountVectorizer(stop_words="english", max_features=60_000, dtype=np.float32)
    counts = words.fit_transform(documents)
    counts = counts[np.diff(counts.indptr) > 0]
    order = np.random.default_rng(SEED).permutation(counts.shape[0])
    X, Q = counts[np.sort(order[N_QUERIES:])], counts[np.sort(order[:N_QUERIES])]
    n, df, mean = X.shape[0], np.bincount(X.indices, minlength=X.shape[1]), X.sum() / X.shape[0]
    idf = np.log1p((n - df + 0.5) / (df + 0.5))
    for part in (X, Q):
        length = np.repeat(part.sum(axis=1).A1 / mean, np.diff(part.indptr))
        counts = part.data
        part.data = idf[part.indices] * counts * 2.2 / (counts + 1.2 * (0.25 + 0.75 * length))
        part.data = part.data.astype(np.float32)
    return X, Q


def news():
    """TF-IDF rows of 20 Newsgroups."""
    X, Q = search.text()
    return X.astype(np.float32), Q[:N_QUERIES].astype(np.float32)


def images():
    """Pictures of digits."""
    X, Q = search.images()
    return np.float32(X), np.float32(Q[:N_QUERIES])


class Ours:
    """CoRENeighbors, which chooses and tunes itself to the recall asked for."""

    distribution, kernels, forms = "corekernels", ALL, ("sparse", "dense")
    builds = tuple({"recall": recall} for recall in RECALLS)
    searches = ({},)

    def build(self, X, kernel, **options):
        self.index = ck.CoRENeighbors(kernel, K, n_jobs=1, random_state=SEED, **options).fit(X)
        return {"method": self.index.method_, "estimated": round(self.index.estimated_recall_, 4)}

    def prepare(self, Q):
        return Q

    def ask(self, Q):
        return self.index.kneighbors(Q)

    def ids(self, answer):
        return answer[1]


class OursExact(Ours):
    """Exact search with bounds."""

    builds = ({"method": "exact"},)


class Peer:
    """What peers share: they know inner products, so that the cosine is one of unit rows."""

    kernels, builds, searches = PRODUCTS, ({},), ({},)

    def rows(self, X, kernel):
        self.unit = kernel == "correlation"
        return self.prepared(X)

    def prepared(self, X):
        return normalize(X) if self.unit else X

    prepare = prepared

    def ids(self, answer):
        return answer


class Seismic(Peer):
    """SEISMIC: inverted lists in blocks with summaries."""

    distribution, forms = "pyseismic-lsr", ("sparse",)
    builds = tuple(
        {"n_postings": n, "summary_energy": energy, "centroid_fraction": 0.1}
        for n, energy in ((3500, 0.4), (20_000, 0.5))
    )
    searches = tuple(
        {"query_cut": cut, "heap_factor": factor}
        for cut in (3, 5, 8, 12, 20, 40)
        for factor in (0.7, 0.9, 1.0)
    )

    def build(self, X, kernel, **options):
        import seismic

        X = self.rows(X, kernel)
        names = [str(row) for row in range(X.shape[0])]
        data = seismic.SeismicDataset()
        data.add_documents_by_id(
            names, X.indices.astype(np.int64), X.data, X.indptr.astype(np.int64)
        )
        self.index = seismic.SeismicIndex.build_from_dataset(data, num_threads=1, **options)
        self.string = seismic.get_seismic_string()

    def prepare(self, Q):
        Q = self.prepared(Q)
        cuts = list(zip(Q.indptr[:-1], Q.indptr[1:], strict=True))
        tokens = [Q.indices[a:b].astype(str).astype(self.string) for a, b in cuts]
        names = np.array([str(row) for row in range(Q.shape[0])], dtype=self.string)
        return names, tokens, [Q.data[a:b] for a, b in cuts]

    def ask(self, Q, **options):
        return self.index.batch_search(*Q, k=K, num_threads=1, **options)

    def ids(self, answer):
        out = np.full((len(answer), K), -1)
        for place, found in enumerate(answer):  # in any order; an empty one has no query
            for rank, (query, _, row) in enumerate(found):
                out[int(query) if len(answer) > 1 else place, rank] = int(row)
        return out


class Kannolo(Peer):
    """kannolo: HNSW over rows in compressed form."""

    distribution, forms = "kannolo", ("sparse", "dense")
    searches = tuple({"ef_search": width} for width in WIDTHS)

    def build(self, X, kernel):
        import kannolo

        X, options = self.rows(X, kernel), {"m": 16, "ef_construction": 200}
        self.is_sparse = sparse.issparse(X)
        if self.is_sparse:
            self.n_columns = X.indices.max() + 1
            arrays = X.indices.astype(np.int32), X.data, X.indptr.astype(np.int64)
            self.index = kannolo.SparsePlainHNSW.build_from_arrays(*arrays, **options)
        else:
            index = kannolo.DensePlainHNSW
            self.index = index.build_from_array(
                X.ravel(), X.shape[1], metric="dotproduct", **options
            )

    def prepare(self, Q):
        Q = self.prepared(Q)
        if not self.is_sparse:
            return (Q.ravel(),)
        Q = Q[:, : self.n_columns]  # it refuses columns beyond the last one of its rows
        return Q.indices.astype(np.int32), Q.data, Q.indptr.astype(np.int64)

    def ask(self, Q, **options):
        return self.index.batch_search(*Q, k=K, num_threads=1, **options)

    def ids(self, answer):
        return np.asarray(answer[1], np.int64).reshape(-1, K)


class Nmslib(Peer):
    """nmslib: HNSW."""

    distribution, kernels, forms = "nmslib", ALL, ("sparse", "dense")
    searches = tuple({"efSearch": width} for width in WIDTHS[::2])

    def build(self, X, kernel):
        import nmslib

        form = "_sparse" if sparse.issparse(X) else ""
        self.is_jaccard, self.unit = kernel == "resemblance", False
        space = {"correlation": "cosinesimil", "inner_product": "negdotprod"}.get(kernel)
        kind = nmslib.DataType.SPARSE_VECTOR if form else nmslib.DataType.DENSE_VECTOR
        if self.is_jaccard:
            space, form, kind = "jaccard_sparse", "", nmslib.DataType.OBJECT_AS_STRING
        self.index = nmslib.init(method="hnsw", space=space + form, data_type=kind)
        self.index.addDataPointBatch(self.prepare(X))
        self.index.createIndex({"M": 16, "efConstruction": 200, "indexThreadQty": 1})

    def prepare(self, Q):
        if not self.is_jaccard:
            return Q
        rows = sparse.csr_array(Q)
        return [
            " ".join(map(str, columns)) for columns in np.split(rows.indices, rows.indptr[1:-1])
        ]

    def ask(self, Q, **options):
        self.index.setQueryTimeParams(options)
        return self.index.knnQueryBatch(Q, k=K, num_threads=1)

    def ids(self, answer):
        return np.array([np.append(rows, np.full(K - len(rows), -1)) for rows, _ in answer])


class Pecos(Peer):
    """PECOS: HNSW."""

    distribution, forms = "libpecos", ("sparse", "dense")
    searches = tuple({"efS": width} for width in WIDTHS)

    def build(self, X, kernel):
        from pecos.ann.hnsw import HNSW

        X = self.rows(X, kernel)
        about = HNSW.TrainParams(M=16, efC=200, threads=1, metric_type="ip")
        self.index = HNSW.train(X, about)
        self.searchers = self.index.searchers_create(1)

    def ask(self, Q, **options):
        asked = self.index.PredParams(topk=K, threads=1, **options)
        return self.index.predict(Q, asked, self.searchers, ret_csr=False)

    def ids(self, answer):
        return answer[0].astype(np.int64)


class Hnswlib(Peer):
    """hnswlib: HNSW over dense rows."""

    distribution, forms = "hnswlib", ("dense",)
    searches = tuple({"ef": width} for width in WIDTHS)

    def build(self, X, kernel):
        import hnswlib

        X = self.rows(X, kernel)
        self.index = hnswlib.Index(space="ip", dim=X.shape[1])
        self.index.init_index(max_elements=len(X), M=16, ef_construction=200, random_seed=SEED)
        self.index.add_items(X, num_threads=1)

    def ask(self, Q, ef):
        self.index.set_ef(ef)
        return self.index.knn_query(Q, K, num_threads=1)

    def ids(self, answer):
        return answer[0].astype(np.int64)


class PyNNDescent(Peer):
    """pynndescent: a graph by descent."""

    distribution, kernels, forms = (
        "pynndescent",
        ("correlation", "resemblance"),
        ("sparse", "dense"),
    )
    searches = tuple({"epsilon": epsilon} for epsilon in (0.0, 0.05, 0.1, 0.2, 0.3, 0.4))

    def build(self, X, kernel):
        import pynndescent

        self.unit, metric = False, {"correlation": "cosine", "resemblance": "jaccard"}[kernel]
        X = X != 0 if kernel == "resemblance" and not sparse.issparse(X) else X
        self.index = pynndescent.NNDescent(X, metric, n_jobs=1, random_state=SEED)
        self.index.prepare()

    def ask(self, Q, **options):
        return self.index.query(Q, K, **options)

    def ids(self, answer):
        return answer[0].astype(np.int64)


class SparseDotTopn(Peer):
    """sparse_dot_topn: sparse products of which the largest are kept; exact."""

    distribution, forms = "sparse_dot_topn", ("sparse",)

    def build(self, X, kernel):
        from sparse_dot_topn import sp_matmul_topn

        self.columns, self.product = self.rows(X, kernel).T.tocsr(), sp_matmul_topn

    def ask(self, Q):
        return self.product(Q, self.columns, K, sort=False)

    def ids(self, answer):
        return padded(answer.indices, answer.indptr)


class SciPy(Peer):
    """SciPy (sparse) or NumPy (dense) products, then the largest of each row; exact."""

    distribution, kernels, forms = "scipy", ALL, ("sparse", "dense")

    def build(self, X, kernel):
        self.columns, self.lengths, self.kernel = None, None, kernel
        X = self.rows(X, kernel)
        self.columns = X.T.tocsr() if sparse.issparse(X) else X.T
        if kernel == "resemblance":
            self.lengths = np.asarray(X.sum(axis=0 if X.shape[0] == 1 else 1)).ravel()

    def prepared(self, X):
        if self.kernel == "resemblance":
            return (X != 0).astype(np.float32)
        return normalize(X) if self.kernel == "correlation" else X

    prepare = prepared

    def ask(self, Q):
        return self._of_sparse(Q) if sparse.issparse(Q) else self._of_dense(Q)

    def _of_sparse(self, Q):
        found = Q @ self.columns
        if self.kernel == "resemblance":
            own = np.repeat(np.diff(Q.indptr).astype(np.float32), np.diff(found.indptr))
            found.data /= own + self.lengths[found.indices] - found.data
        rows = np.full((Q.shape[0], K), -1)
        for q, (start, stop) in enumerate(zip(found.indptr[:-1], found.indptr[1:], strict=True)):
            values = found.data[start:stop]
            best = np.argpartition(values, -K)[-K:] if len(values) > K else np.arange(len(values))
            rows[q, : len(best)] = found.indices[start + best]
        return rows

    def _of_dense(self, Q):
        rows = np.empty((len(Q), K), np.int64)
        for start in range(0, len(Q), 100):
            found = Q[start : start + 100] @ self.columns
            if self.kernel == "resemblance":
                found /= Q[start : start + 100].sum(axis=1)[:, None] + self.lengths - found
            rows[start : start + 100] = np.argpartition(found, -K)[:, -K:]
        return rows


ENGINES = {
    "corekernels": Ours, "corekernels, exact": OursExact, "seismic": Seismic, "kannolo": Kannolo,
    "nmslib": Nmslib, "pecos": Pecos, "hnswlib": Hnswlib, "pynndescent": PyNNDescent,
    "sparse_dot_topn": SparseDotTopn, "scipy": SciPy,
}  # fmt: skip
TASKS = {  # the kernels asked for, and the engines left out, which are too slow there
    "texts": (ALL, {"kannolo", "pynndescent"}),
    f"texts, {FEW:,}": (("correlation",), {"nmslib"}),
    "mnist": (("correlation", "resemblance"), set()),
    "news": (("correlation",), {"nmslib", "pynndescent"}),
}


def padded(ids, indptr):
    """Rows of K ids, with -1 where there are fewer."""
    out = np.full((len(indptr) - 1, K), -1)
    for row, (start, stop) in enumerate(itertools.pairwise(indptr)):
        out[row, : stop - start] = ids[start:stop]
    return out


def kernel_values(Q, X, kernel):
    """True values of all pairs, in double precision."""
    if kernel == "resemblance":
        Q, X = (sparse.csr_array(part != 0).astype(float) for part in (Q, X))
        shared = (Q @ X.T).toarray()
        return shared / np.maximum(1, Q.sum(axis=1)[:, None] + X.sum(axis=1) - shared)
    Q, X = (normalize(part) if kernel == "correlation" else part for part in (Q, X))
    found = Q.astype(float) @ X.T.astype(float)
    return found.toarray() if sparse.issparse(found) else found


def truth(Q, X, kernel):
    """The value of the K-th nearest row of each query, less what rounding may take."""
    least = [
        np.partition(kernel_values(Q[start : start + 100], X, kernel), -K)[:, -K]
        for start in range(0, Q.shape[0], 100)
    ]
    least = np.concatenate(least)
    return least - 1e-6 * np.abs(least)


def recall_of(ids, Q, X, kernel, least):
    """The share of the nearest rows among those given, each of which counts once."""
    n_found = 0
    for q in range(len(ids)):
        rows = np.unique(ids[q])
        rows = rows[rows >= 0]
        if least[q] <= 0:  # any row is near enough, and some engines leave these out
            n_found += K
        elif len(rows):
            n_found += np.count_nonzero(kernel_values(Q[q : q + 1], X[rows], kernel) >= least[q])
    return n_found / (len(ids) * K)


def seconds(repeats, call, *arguments, **options):
    """The least processor time of several calls."""
    best = math.inf
    for _ in range(repeats):
        start = time.process_time()
        call(*arguments, **options)
        best = min(best, time.process_time() - start)
    return best


def resident():
    """Megabytes of memory that this process has."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def measure_one(name, path, repeats):
    """What one engine does with one task."""
    with open(path, "rb") as file:
        X, Q, kernel, least = pickle.load(file)
    engine, points = ENGINES[name](), []
    engine.build(X[:3000], kernel, **engine.builds[0])  # loads what is loaded once
    engine.ask(engine.prepare(Q), **engine.searches[0])
    for build in engine.builds:
        engine = ENGINES[name]()
        before, start = resident(), time.process_time()
        about = engine.build(X, kernel, **build) or {}
        about |= {"build_seconds": round(time.process_time() - start, 2)}
        about |= {"megabytes": round(resident() - before)}
        mine = []
        for options in engine.searches:
            asked = engine.prepare(Q)
            ids = engine.ids(engine.ask(asked, **options))
            spent = seconds(repeats, engine.ask, asked, **options) / len(least)
            recall = round(recall_of(ids, Q, X, kernel, least), 4)
            point = {"recall": recall, "microseconds": round(spent * 1e6, 1)} | about
            mine.append((options, point | {"settings": {**build, **options}}))
        options, near = min(mine, key=lambda one: abs(one[1]["recall"] - 0.95))
        single = [engine.prepare(Q[q : q + 1]) for q in range(0, len(least), 5)]
        spent = seconds(repeats, ask_each, engine, single, options) / len(single)
        near["single_microseconds"] = round(spent * 1e6, 1)
        points += [point for _, point in mine]
    return points


def ask_each(engine, single, options):
    """Ask one query at a time."""
    for one in single:
        engine.ask(one, **options)


def best_of(points):
    """The points that no other beats in both recall and time; of each build at least one."""
    points = sorted(points, key=lambda point: (point["microseconds"], -point["recall"]))
    kept, recall = [], -1.0
    for point in points:
        if point["recall"] > recall or "single_microseconds" in point:
            kept.append(point)
        recall = max(recall, point["recall"])
    return kept


def run(task, name, path, options):
    """What one engine does with one task, in a process of its own."""
    threads = ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON")
    environment = os.environ | {f"{library}_NUM_THREADS": "1" for library in threads}
    line = [sys.executable, __file__, "--one", name, path, "--repeats", str(options.repeats)]
    try:
        done = subprocess.run(
            line, env=environment, capture_output=True, text=True, timeout=options.limit
        )
    except subprocess.TimeoutExpired:
        return {"note": f"not through in {options.limit} s"}
    if done.returncode:
        told = done.stderr.strip().splitlines() or ["ended by a signal"]
        panic = next((place for place, line in enumerate(told) if "panicked at" in line), -2)
        return {"note": f"failed: {told[panic + 1][:200]}"}
    return {"curve": best_of(json.loads(done.stdout.splitlines()[-1]))}


def tables(found):
    """The results in Markdown: microseconds of the fastest point that has at least a recall."""
    lines = []
    for task, results in found["tasks"].items():
        lines += [f"\n{task}, {results['rows']:,} rows\n"]
        lines += [f"| | build, s | MB | {' | '.join(f'{r:.0%}' for r in SHOWN)} | best | one |"]
        lines += [f"|---|{'--:|' * (len(SHOWN) + 4)}"]
        for name, result in results.items():
            if not isinstance(result, dict):
                continue
            if "curve" not in result:
                lines.append(f"| {name} | {result['note']} |")
                continue
            curve = result["curve"]
            cells = [fastest(curve, recall) for recall in SHOWN]
            best = max(curve, key=lambda point: point["recall"])
            cells += [f"{best['microseconds']:,.0f} @ {best['recall']:.3f}"]
            single = [point for point in curve if "single_microseconds" in point]
            near = min(single, key=lambda point: abs(point["recall"] - 0.95))
            cells += [f"{near['single_microseconds']:,.0f} @ {near['recall']:.3f}"]
            megabytes = max(point["megabytes"] for point in curve)  # later builds take freed memory
            about = f"{near['build_seconds']:.1f} | {megabytes:,}"
            lines.append(f"| {name} | {about} | {' | '.join(cells)} |")
    return "\n".join(lines)


def fastest(curve, recall):
    """The least time of a curve at a recall or more, as text."""
    times = [point["microseconds"] for point in curve if point["recall"] >= recall]
    return f"{min(times):,.0f}" if times else "–"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=Path, help="from benchmarks/descriptions_corpus.py")
    parser.add_argument("--data", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--kernels", nargs="+", choices=ALL, default=list(ALL))
    parser.add_argument("--only", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--limit", type=float, default=600, help="seconds for one engine")
    parser.add_argument("--tables", action="store_true", help="print the results there are")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.tables:
        print(tables(json.loads(RESULTS.read_text())))
        return
    if options.one:
        print(json.dumps(measure_one(*options.one, options.repeats)))
        return
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"tasks": {}}
    found |= {"machine": measure.machine()}
    found |= {"settings": {"seed": SEED, "k": K, "queries": N_QUERIES, "repeats": options.repeats}}
    for data in options.data:
        if data.startswith("texts") and options.texts is None:
            continue
        if data.startswith("texts"):
            X, Q = texts(options.texts)
            X = X if data == "texts" else X[:: X.shape[0] // FEW][:FEW]
        else:
            X, Q = images() if data == "mnist" else news()
        form = "sparse" if sparse.issparse(X) else "dense"
        for kernel in options.kernels:
            kernels, left_out = TASKS[data]
            names = [
                name for name in options.only
                if name not in left_out and form in ENGINES[name].forms
                and kernel in ENGINES[name].kernels and kernel in kernels
            ]  # fmt: skip
            if not names:
                continue
            task = found["tasks"].setdefault(f"{data}; {kernel}", {})
            task |= {"rows": X.shape[0], "queries": Q.shape[0]}
            with tempfile.NamedTemporaryFile(suffix=".pickle") as file:
                pickle.dump((X, Q, kernel, truth(Q, X, kernel)), file)
                file.flush()
                for name in names:
                    if measure.installed(ENGINES[name].distribution) is None:
                        result = {"note": "not installed"}
                    else:
                        result = run(task, name, file.name, options)
                    task[name] = result | {"load": round(os.getloadavg()[0], 1)}
                    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
                    print(data, kernel, name, result.get("note", ""), flush=True)
                    for point in result.get("curve", ()):
                        print("   ", json.dumps(point), flush=True)


if __name__ == "__main__":
    main()
