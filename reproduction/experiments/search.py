"""Beyond the paper: near-neighbour search with the kernels, a use that it proposes."""

import time
from typing import Any

import numpy as np

import corekernels as ck
from corekernels.report.layout import Figure, Line, Panel, Table

from .experiment import Drawn, Experiment, Record, Records, Setting
from .published import percent, provenance, title_of

RECALLS = (0.8, 0.9, 0.95, 0.99)
N_NEIGHBORS = 10


def measure(name: str, setting: Setting) -> Record:
    """Recall and time per query for several recalls asked for, beside exact search."""
    data = setting.load(name)
    swapped = name == "mnist10k"  # its larger part is the test set
    X, queries = (data.X_test, data.X_train) if swapped else (data.X_train, data.X_test)
    queries = queries[:2000]
    results: Record = {"data": provenance(data), "rows": X.shape[0], "queries": queries.shape[0]}
    timings: Record = {}
    truth, timings["exact"], _ = _answers(X, queries, {"method": "exact"}, setting)
    for recall in RECALLS:
        found, microseconds, index = _answers(X, queries, {"recall": recall}, setting)
        hits = sum(len(np.intersect1d(a, b)) for a, b in zip(found, truth, strict=True))
        results[f"{recall}"] = {"recall": percent(hits / truth.size), "method": index.method_}
        timings[f"{recall}"] = microseconds
    return {**results, "timings": timings}


def draw(records: Records) -> Drawn:
    """Recall against time."""
    rows, panels = [], []
    for name, results in records.results("search").items():
        timings = results["timings"]
        exact = timings["exact"]
        label, n_rows = title_of(name), f"{results['rows']:,}"
        rows.append([label, n_rows, "exact", "100.0", f"{exact:,.0f}", "1.0"])
        for recall in RECALLS:
            found, spent = results[f"{recall}"], timings[f"{recall}"]
            rows.append([
                label, n_rows, f"{found['method']}, asked {recall:g}", f"{found['recall']:.1f}",
                f"{spent:,.0f}", f"{exact / spent:.1f}",
            ])  # fmt: skip
        spent = [timings[f"{recall}"] for recall in RECALLS]
        reached = [results[f"{recall}"]["recall"] for recall in RECALLS]
        lines = [
            Line("index", spent, reached),
            Line("exact search", [exact], [100.0], style="points"),
        ]
        panels.append(Panel(label, "microseconds per query", "recall, %", lines, log_x=True))
    text = (
        f"The {N_NEIGHBORS} nearest rows by CoRE 1 with CoRENeighbors, one thread. Candidates "
        "come from a graph, inverted lists or hash tables and are ranked by the exact kernel; "
        "exact search skips rows by bounds on the kernel."
    )
    columns = ["data set", "rows", "method", "recall, %", "µs per query", "times faster"]
    figure = Figure(
        "search", "Search: recall against time per query.",
        "Recall against microseconds per query, with exact search as one point.", panels,
    )  # fmt: skip
    return Drawn(text, [Table("Recall and time per query.", columns, rows)], [figure])


def _answers(X: Any, queries: Any, options: Any, setting: Setting) -> tuple[Any, float, Any]:
    index = ck.CoRENeighbors("core1", N_NEIGHBORS, n_jobs=1, random_state=setting.seed, **options)
    index.fit(X).kneighbors(queries[:10])  # compiled before the clock runs
    start = time.perf_counter()
    _, found = index.kneighbors(queries)
    return found, (time.perf_counter() - start) / queries.shape[0] * 1e6, index


EXPERIMENT = Experiment(
    "search", "Beyond the paper: near-neighbour search",
    {"quick": [], "full": ["mnist10k", "20news"]},  # few rows are best searched exactly
    measure, draw,
)  # fmt: skip
