"""Tables 1 and 2, Figures 1 and 2: accuracies over C, linear and with the exact kernels."""

import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

import corekernels as ck
from corekernels.report.layout import Figure, Line, Mark, Panel, Table

from ..datasets.dataset import Array
from .experiment import Drawn, Experiment, Record, Records, Setting, binarised, in_threads
from .published import (
    DATA_SETS,
    KERNELS,
    accuracy,
    difference,
    one_decimal,
    percent,
    provenance,
    title_of,
)

# by label, what a linear SVM sees of the rows
LINEAR: dict[str, Callable[[Any], Any]] = dict(zip(KERNELS, (lambda X: X, binarised), strict=False))
TOLERANCE = 1e-2
# by label, the kernels that the paper measures
EXACT = {"resemblance": "resemblance", "CoRE 1": "core1", "CoRE 2": "core2"}


def measure_linear(name: str, setting: Setting) -> Record:
    """Accuracy for each C of LIBLINEAR's SVM, on the rows and on the rows binarised."""
    data = setting.load(name)
    Cs = _with_middles(setting.Cs)
    results: Record = {"data": provenance(data), "Cs": Cs}
    for kind, view in LINEAR.items():
        results[kind] = linear_accuracies(data, view, Cs, setting)
    return results


def linear_accuracies(
    data: Any, view: Callable[[Any], Any], Cs: Sequence[float], setting: Setting
) -> list[float]:
    """Accuracy for each C, without a bias term: LIBLINEAR's default; the paper does not say."""
    X_train, X_test = view(data.X_train), view(data.X_test)

    def fitted_accuracy(C: float) -> float:
        model = LinearSVC(C=C, tol=TOLERANCE, fit_intercept=False, random_state=setting.seed)
        return accuracy(model.fit(X_train, data.y_train).predict(X_test), data.y_test)

    # at the largest C it stops at its limit of iterations
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        return in_threads(fitted_accuracy, Cs, setting.n_jobs)


def measure_kernels(name: str, setting: Setting) -> Record:
    """Accuracy for each C of LIBSVM's SVM on precomputed kernels."""
    data = setting.load(name)
    results: Record = {"data": provenance(data), "Cs": list(setting.Cs)}
    for title, kernel in EXACT.items():
        results[title] = kernel_accuracies(data, kernel, setting.Cs, setting)
    return results


def kernel_accuracies(
    data: Any, kernel: str, Cs: Sequence[float], setting: Setting, gamma: float | None = None
) -> list[float]:
    """Accuracy for each C; each block of the test rows' kernel is computed once for all C."""
    options: dict[str, Any] = {"gamma": gamma, "n_jobs": setting.n_jobs}
    gram = getattr(ck, kernel)(data.X_train, **options).astype(np.float64)

    def fitted(C: float) -> SVC:
        return SVC(C=C, kernel="precomputed").fit(gram, data.y_train)

    models = in_threads(fitted, Cs, setting.n_jobs)
    hits = np.zeros(len(models), dtype=np.int64)
    for rows, block in ck.gram_chunks(data.X_test, data.X_train, kernel, **options):
        block, truth = block.astype(np.float64), data.y_test[rows]

        def right(model: SVC, block: Array = block, truth: Array = truth) -> int:
            return int(np.sum(model.predict(block) == truth))

        hits += in_threads(right, models, setting.n_jobs)
    return [percent(n / len(data.y_test)) for n in hits]


def draw_linear(records: Records) -> Drawn:
    """Table 1 and Figure 1."""
    text = (
        "Rows of unit length, LIBLINEAR's l2-regularised SVM without a bias term (its "
        "default). As in the paper, tables show the best test accuracy over C, in percent: "
        "an upper bound for each method, and not a way to choose C. Linear SVMs, which are "
        "sensitive to C, are tried at twice as many values of C as kernel SVMs."
    )
    return _drawn(text, 1, "Linear SVM", [*LINEAR], records)


def draw_kernels(records: Records) -> Drawn:
    """Table 2 and Figure 2."""
    text = (
        "LIBSVM on the precomputed exact kernels, which have no parameter to tune. "
        "The linear columns of the paper's Table 2 are those of Table 1."
    )
    return _drawn(text, 2, "Kernel SVM", [*EXACT], records)


def _drawn(text: str, number: int, what: str, kinds: Sequence[str], records: Records) -> Drawn:
    """The table and the figure of this number."""
    experiment = f"table{number}"
    panels, bests = [], []
    for part, results in records.results(experiment).items():
        paper = DATA_SETS[part].accuracies if part in DATA_SETS else {}
        lines = [Line(kind, results["Cs"], results[kind]) for kind in kinds]
        marks = [Mark("paper", paper[kind], kind) for kind in kinds if kind in paper]
        panels.append(Panel(title_of(part), "C", "accuracy, %", lines, marks, log_x=True))
        reached = ", ".join(f"{kind} {best(results, kind):.1f} %" for kind in kinds)
        bests.append(f"{title_of(part)}: best {reached}")
    marked = "; the paper's best values as horizontal lines" if any(p.marks for p in panels) else ""
    caption = f"Figure {number}. {what}: test accuracy against C{marked}."
    alt = f"Accuracy against C. {'; '.join(bests)}."
    table = _table(f"Table {number}. {what}: best accuracies, %.", experiment, kinds, records)
    return Drawn(text, [table], [Figure(f"figure{number}", caption, alt, panels)])


def best(results: Record | None, kind: str) -> float | None:
    """The best accuracy over C, if it was measured."""
    return max(results[kind]) if results and kind in results else None


def _table(caption: str, experiment: str, kinds: Sequence[str], records: Records) -> Table:
    if not any(name in DATA_SETS for name in records.get(experiment, {})):
        return _plain_table(caption, kinds if experiment == "table1" else KERNELS, records)
    columns = ["data set", "train", "test", *("paper", "ours", "difference") * len(kinds)]
    rows = []
    for name in records[experiment]:
        published, results = DATA_SETS.get(name), records.results(experiment).get(name)
        sizes = (published.n_train, published.n_test) if published else (None, None)
        row = [title_of(name), *(None if size is None else f"{size:,}" for size in sizes)]
        for kind in kinds:
            paper = published.accuracies[kind] if published else None
            ours = best(results, kind)
            row += [one_decimal(paper), one_decimal(ours), difference(ours, paper)]
        rows.append(row)
    return Table(caption, columns, rows, (("", 3), *((kind, 3) for kind in kinds)))


def _plain_table(caption: str, kinds: Sequence[str], records: Records) -> Table:
    """Accuracies side by side, where the paper has none to compare with."""
    rows = []
    for name in records.results("table1") | records.results("table2"):
        found = records.results("table1").get(name, {}) | records.results("table2").get(name, {})
        rows.append([title_of(name), *(one_decimal(best(found, kind)) for kind in kinds)])
    return Table(caption, ["data set", *kinds], rows)


def _with_middles(Cs: Sequence[float]) -> list[float]:
    """These values and their geometric means: linear models are cheap and sensitive to C."""
    middles = [float(f"{(low * high) ** 0.5:.3g}") for low, high in itertools.pairwise(Cs)]
    return sorted([*Cs, *middles])


_PARTS = {"quick": ["digits"], "full": [*DATA_SETS, "20news"]}
LINEAR_EXPERIMENT = Experiment(
    "table1", "Table 1 and Figure 1: linear SVM, original and binarised rows", _PARTS,
    measure_linear, draw_linear,
)  # fmt: skip
KERNEL_EXPERIMENT = Experiment(
    "table2", "Table 2 and Figure 2: kernel SVM with resemblance, CoRE 1 and CoRE 2", _PARTS,
    measure_kernels, draw_kernels,
)  # fmt: skip
