"""Recall against time of search engines, as benchmarks/results/engines.json has it."""

import json
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, NullFormatter
from themed_figures import darken

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "engines.json"
COLOURS = {
    "corekernels": "tab:blue", "seismic": "tab:orange", "hnswlib": "tab:green",
    "kannolo": "tab:purple", "pecos": "tab:brown", "nmslib": "tab:pink",
    "pynndescent": "tab:olive", "scipy": "tab:gray", "sparse_dot_topn": "tab:cyan",
}  # fmt: skip
EXACT = {"corekernels, exact": "tab:blue", "scipy": "tab:gray", "sparse_dot_topn": "tab:cyan"}
TASKS = {
    "texts; correlation": "texts, cosine",
    "texts; inner_product": "texts, inner product",
    "texts; resemblance": "texts, Jaccard",
    "mnist; correlation": "MNIST, cosine",
}
FROM = 0.8  # recall


def draw():
    tasks = json.loads(RESULTS.read_text())["tasks"]
    figure, grid = plt.subplots(2, 2, figsize=(8.4, 7.2), layout="constrained")
    shown = {}
    for axes, (name, title) in zip(grid.flat, TASKS.items(), strict=True):
        for engine, result in tasks[name].items():
            curve = result.get("curve") if isinstance(result, dict) else None
            points = [point for point in curve or () if point["recall"] >= FROM]
            recalls = [point["recall"] for point in points]
            times = [point["microseconds"] for point in points]
            if engine in EXACT and points:
                line = axes.axhline(times[0], color=EXACT[engine], linestyle=":", linewidth=1.3)
                shown.setdefault(f"{engine.removesuffix(', exact')}, exact", line)
            elif points:
                colour, width = COLOURS[engine], 2.2 if engine == "corekernels" else 1.3
                (line,) = axes.plot(
                    recalls, times, "o-", color=colour, linewidth=width, markersize=4
                )
                shown.setdefault(engine, line)
        axes.set(title=title, yscale="log", xlim=(FROM, 1.005))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.grid(alpha=0.3, which="both")
    for axes in grid[1]:
        axes.set_xlabel("recall of the 10 nearest")
    for axes in grid[:, 0]:
        axes.set_ylabel("µs per query, one thread")
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=4)
    return figure


def light():
    draw()


def dark():
    darken(draw())
