"""Near-neighbour search against our own pruned exact search; engines.py has other engines.

    COREKERNELS_DATA=... python benchmarks/search.py [--rows 500000]

CoRENeighbors(recall=0.95) chooses and tunes itself; queries are held-out rows, recall is
counted against exact search, times are processor seconds of one thread for the whole batch,
the best of several rounds in which all contenders take their turn. With --rows, MNIST with
small shifts and rotations is searched as well. Writes benchmarks/results/search.json; with --dense
measures blurred MNIST alone, rows that are half nonzero, and adds it there.
"""

import argparse
import json
import math
import os
import time
from pathlib import Path

import numpy as np
from scipy import ndimage, sparse
from sklearn.feature_extraction.text import TfidfTransformer

import corekernels as ck
import measure
from corekernels.neighbors import Tuned
from corekernels.neighbors.candidates.graph import Graph
from corekernels.neighbors.snapshot import Snapshot
from paper import datasets

SEED = 0
K = 10
RESULTS = Path(__file__).parent / "results" / "search.json"
WIDTHS = (16, 24, 32, 48, 64, 96, 128, 192)
BLUR = 1.25  # pixels


def images() -> tuple[np.ndarray, np.ndarray]:
    """MNIST rows: 60,000 to index, 10,000 to ask for."""
    pictures, _ = datasets.mnist()
    rows = pictures.reshape(len(pictures), -1)
    return rows[:60_000], rows[60_000:]


def blurred(pictures: np.ndarray) -> np.ndarray:
    """Images blurred so far that half of their pixels are on, as bytes."""
    out = np.empty(pictures.shape, np.uint8)
    for start in range(0, len(pictures), 1000):
        images = pictures[start : start + 1000].reshape(-1, 28, 28).astype(np.float32)
        images = 2 * ndimage.gaussian_filter(images, (0, BLUR, BLUR))
        out[start : start + 1000] = np.clip(images, 0, 255).reshape(-1, 784)
    return out


def many_images(n_rows: int) -> np.ndarray:
    """MNIST, then copies of it, each turned and shifted a little."""
    pictures, _ = datasets.mnist()
    pictures = pictures[:60_000]
    rng = np.random.default_rng(SEED)
    out = np.empty((n_rows, 784), np.uint8)
    for row in range(n_rows):
        picture = pictures[row % 60_000]
        if row >= 60_000:
            angle, (down, right) = rng.uniform(-0.26, 0.26), rng.uniform(-1.5, 1.5, 2)
            turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
            offset = np.array([13.5, 13.5]) - turn @ np.array([13.5 + down, 13.5 + right])
            picture = ndimage.affine_transform(picture, turn, offset, order=1)
        out[row] = picture.ravel()
    return out


def text() -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """20 Newsgroups, TF-IDF."""
    folder = Path(os.environ["COREKERNELS_DATA"]) / "20news"
    X, Q = (sparse.load_npz(folder / f"{part}_tf.npz") for part in ("train", "test"))
    weights = TfidfTransformer(sublinear_tf=True).fit(X)
    return weights.transform(X), weights.transform(Q)


def per_query(contenders: dict[str, object], n_queries: int, repeats: int) -> dict[str, float]:
    """Best processor microseconds per query, the contenders taking turns."""
    best = dict.fromkeys(contenders, math.inf)
    for _ in range(repeats):
        for name, contender in contenders.items():
            start = time.process_time()
            contender()
            best[name] = min(best[name], time.process_time() - start)
    return {name: round(seconds / n_queries * 1e6, 1) for name, seconds in best.items()}


def ask(index: ck.CoRENeighbors, Q: object) -> object:
    return lambda: index.kneighbors(Q)


def on(X: object, Q: object, recall: float, repeats: int, *, curve: bool) -> dict[str, object]:
    """Exact against self-tuned search on one data set."""
    exact = ck.CoRENeighbors(method="exact", n_jobs=1).fit(X)
    start, cpu = time.perf_counter(), time.process_time()
    index = ck.CoRENeighbors(recall=recall, n_jobs=None, random_state=SEED).fit(X)
    fit = {
        "seconds": round(time.perf_counter() - start, 1),
        "processor_seconds": round(time.process_time() - cpu, 1),
    }
    index.set_params(n_jobs=1)
    truth = exact.kneighbors(Q)[0][:, -1:]
    found = index.kneighbors(Q)[0] <= truth
    times = per_query({"exact": ask(exact, Q), "index": ask(index, Q)}, Q.shape[0], repeats)
    both = {}
    for jobs in (1, 2):
        for name, model in (("exact", exact), ("index", index)):
            model.set_params(n_jobs=jobs)
            start = time.perf_counter()
            model.kneighbors(Q)
            both[f"{name}_{jobs}_threads"] = round(
                (time.perf_counter() - start) / Q.shape[0] * 1e6, 1
            )
            model.set_params(n_jobs=1)
    result: dict[str, object] = {
        "rows": X.shape[0],
        "method": index.method_,
        "reason": index.reason_,
        "recall_wanted": recall,
        "recall_estimated": round(index.estimated_recall_, 4),
        "recall": round(float(found.mean()), 4),
        "fit": fit,
        "bytes_per_row_beyond_the_data": round(index._snapshot.main.nbytes / X.shape[0]),
        "microseconds_per_query": times,
        "wall_microseconds_per_query_by_threads": both,
        "times_faster_than_exact": round(times["exact"] / times["index"], 1),
    }
    if curve and isinstance(index._snapshot.main, Graph):
        result["curve"] = widths(index, Q, truth, repeats)
    return result


def widths(index: ck.CoRENeighbors, Q: object, truth: np.ndarray, repeats: int) -> list[object]:
    """Recall and time of the graph at each width."""
    graph, points = index._snapshot.main, []
    for width in WIDTHS:
        chosen = graph.with_settings(width=width, followed=-(-width // 2))
        index._snapshot = Snapshot.begin(Tuned(chosen, "", 1.0), index.ids_)
        recall = float((index.kneighbors(Q)[0] <= truth).mean())
        times = per_query({"graph": ask(index, Q)}, Q.shape[0], repeats)
        points.append({"width": width, "recall": round(recall, 4), "microseconds": times["graph"]})
    index._snapshot = Snapshot.begin(Tuned(graph, index.reason_, 1.0), index.ids_)
    return points


def at_recall(points: list[dict[str, float]], recall: float) -> float:
    """Time at a recall, between two measured points."""
    recalls = [point["recall"] for point in points]
    times = [math.log(point["microseconds"]) for point in points]
    return math.exp(np.interp(recall, recalls, times))


def growth(first: dict[str, object], last: dict[str, object]) -> float:
    """The exponent e of time ~ n^e between two sizes, at recall 0.95 of their curves."""
    times = [at_recall(result["curve"], 0.95) for result in (first, last)]
    return round(math.log(times[1] / times[0]) / math.log(last["rows"] / first["rows"]), 2)


def file_times(X: object, folder: Path) -> dict[str, float]:
    """Seconds to save and to load."""
    index = ck.CoRENeighbors(method="graph", random_state=SEED, recall=0.9).fit(X)
    path = folder / "search-benchmark.safetensors"
    try:
        start = time.perf_counter()
        index.save(path)
        saved = time.perf_counter() - start
        start = time.perf_counter()
        ck.CoRENeighbors.load(path)
        loaded = time.perf_counter() - start
        return {"save_seconds": round(saved, 2), "load_seconds": round(loaded, 3),
                "bytes_per_row": path.stat().st_size // X.shape[0]}  # fmt: skip
    finally:
        path.unlink(missing_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=0, help="rows of MNIST shifted and turned")
    parser.add_argument("--dense", action="store_true", help="blurred MNIST alone")
    args = parser.parse_args()
    about = {
        "machine": measure.machine(),
        "settings": vars(args) | {"seed": SEED, "load_average_at_start": os.getloadavg()[0]},
    }
    found: dict[str, object] = json.loads(RESULTS.read_text()) if args.dense else dict(about)

    def note(name: str, result: object) -> None:
        found[name] = result
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
        print(name, json.dumps(result, indent=1), flush=True)

    X, Q = images()
    Q = Q[: args.queries]
    dense, asked = blurred(X), blurred(Q)
    result = on(dense, asked, 0.95, args.repeats, curve=True)
    note("mnist blurred, 60,000", result | {"nonzero": float((dense != 0).mean()), **about})
    if args.dense:
        return
    note("mnist 10,000", on(X[:10_000], Q, 0.95, args.repeats, curve=True))
    note("mnist 60,000", on(X, Q, 0.95, args.repeats, curve=True))
    note("growth 10,000 to 60,000", growth(found["mnist 10,000"], found["mnist 60,000"]))
    T, queries = text()
    note("20 newsgroups", on(T, queries[: args.queries], 0.95, args.repeats, curve=False))
    note("files, mnist 60,000", file_times(X, RESULTS.parent))
    if args.rows:
        X = many_images(args.rows)
        name = f"mnist {args.rows:,}"
        note(name, on(X, Q[:300], 0.95, 1, curve=True))
        note(f"growth 10,000 to {args.rows:,}", growth(found["mnist 10,000"], found[name]))
        note(f"files, {name}", file_times(X, RESULTS.parent))


if __name__ == "__main__":
    main()
