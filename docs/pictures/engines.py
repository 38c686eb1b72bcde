"""Recall against time of search engines, as benchmarks/results/engines.json has it."""

import json
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from themed_figures import darken

RESULTS = Path("../../benchmarks/results/engines.json")  # from this folder, where it is drawn
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
            points = best_of(point for point in curve or () if point["recall"] >= FROM)
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
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.grid(alpha=0.3)
    for axes in grid[1]:
        axes.set_xlabel("recall of the 10 nearest")
    for axes in grid[:, 0]:
        axes.set_ylabel("µs per query, one thread")
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=4)
    return figure


def best_of(points):
    """Those that no faster one beats in recall."""
    best = []
    for point in sorted(points, key=lambda point: point["microseconds"]):
        if not best or point["recall"] > best[-1]["recall"]:
            best.append(point)
    return best


def light():
    draw()


def dark():
    darken(draw())
