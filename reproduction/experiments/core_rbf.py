"""Beyond the paper: CoRE RBF, R exp(-gamma (1 - rho)), exact and hashed, beside CoRE 1."""

import time
import warnings
from dataclasses import replace

from sklearn.exceptions import ConvergenceWarning

import corekernels as ck
from corekernels.report.layout import Figure, Line, Mark, Panel, Table

from ..datasets import Dataset
from .experiment import N_TUNING, Drawn, Experiment, Record, Records, Setting, tuning_rows
from .published import one_decimal, percent, provenance, title_of
from .tables import kernel_accuracies

GAMMAS = (2.0, 4.0)
HASHES = (256, 1024, 4096)
MANY_HASHES = 16_384  # on M-Rotate
EXACT_CS = (10.0,)
HASHED_CS = (1.0, 3.16)
N_TEST = 5_000
GAP, MAX_SWEEPS = 1e-2, 100  # of training on hashed rows
KERNELS = {"CoRE 1": ("core1", None)} | {
    f"CoRE RBF, γ = {gamma:g}": ("core_rbf", gamma) for gamma in GAMMAS
}


def measure(name: str, setting: Setting) -> Record:
    """For each kernel, the accuracy of the exact one and of hashes; seconds to hash and to fit."""
    data = setting.load(name)
    few = replace(data, X_test=data.X_test[:N_TEST], y_test=data.y_test[:N_TEST])
    hashes = [*HASHES, MANY_HASHES] if name == "m-rotate" else [*HASHES]
    results: Record = {"data": provenance(data), "n_test": len(few.y_test), "hashes": hashes}
    results["timings"] = {}
    for title, (kernel, gamma) in KERNELS.items():
        hashed = [_hashed(few, kernel, gamma, k, setting) for k in hashes]
        results[title] = [accuracy for accuracy, _ in hashed]
        results["timings"] |= {
            f"{title}, k = {k}": seconds for k, (_, seconds) in zip(hashes, hashed, strict=True)
        }
        results[f"{title}, exact"] = max(kernel_accuracies(few, kernel, EXACT_CS, setting, gamma))
    return results


def _hashed(
    data: Dataset, kernel: str, gamma: float | None, k: int, setting: Setting
) -> tuple[float, dict[str, float]]:
    """Accuracy on hashed rows, and how long hashing and training took, the choice of C included."""
    hasher = ck.CoREHasher(
        kernel, k, gamma=gamma, random_state=setting.seed, n_jobs=setting.n_jobs
    ).fit(data.X_train)
    hasher.sketch(data.X_test[:10])  # compiles
    start = time.perf_counter()
    S_train = hasher.sketch(data.X_train)
    hashed = time.perf_counter()
    model = ck.linear.HashedLinearClassifier(
        tol=GAP, max_iter=MAX_SWEEPS, random_state=setting.seed, n_jobs=setting.n_jobs
    )
    learned, held_out = tuning_rows(len(data.y_train), setting.seed)
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        path = ck.linear.c_path(
            S_train[learned], data.y_train[learned], HASHED_CS, model=model, path_tol=GAP,
            validation=(S_train[held_out], data.y_train[held_out]), progress=False,
        )  # fmt: skip
        model.set_params(C=path.best_C).fit(S_train, data.y_train)
    seconds = {"hash": hashed - start, "fit": time.perf_counter() - hashed}
    return percent(model.score(hasher.sketch(data.X_test), data.y_test)), seconds


def draw(records: Records) -> Drawn:
    """Accuracy against the number of hashes, the exact kernels as horizontal lines."""
    rows, panels = [], []
    found = records.results("core_rbf")
    columns = [f"k = {k}" for k in sorted({k for part in found.values() for k in part["hashes"]})]
    for name, results in found.items():
        lines, marks = [], []
        for title in KERNELS:
            cells = [one_decimal(value) for value in results[title]]
            cells += [None] * (len(columns) - len(cells))
            exact = results[f"{title}, exact"]
            rows.append([title_of(name), title, *cells, one_decimal(exact)])
            lines.append(Line(title, results["hashes"], results[title]))
            marks.append(Mark("exact kernel", exact, title))
        panels.append(
            Panel(title_of(name), "hashes per row, k", "accuracy, %", lines, marks, log_x=True)
        )
    text = (
        "CoRE RBF is the resemblance times a Gaussian kernel of the unit rows. "
        "It takes CoRE 1's locations, and the cosines of its projections as weights. Exact: kernel "
        f"SVM, C = {EXACT_CS[0]:g}. Hashed: 8 bits, linear SVM, C = {HASHED_CS[0]:g} or "
        f"{HASHED_CS[1]:g}, whichever does better on held-out rows among {N_TUNING:,} of the "
        f"training rows. At most {N_TEST:,} test rows."
    )
    table = Table("Accuracy, %.", ["data set", "kernel", *columns, "exact"], rows)
    figure = Figure(
        "core-rbf", "CoRE 1 and CoRE RBF: test accuracy against the number of hashes.",
        "Accuracy against the number of hashes for each kernel, on each data set.", panels,
    )  # fmt: skip
    return Drawn(text, [table], [figure])


EXPERIMENT = Experiment(
    "core_rbf", "Beyond the paper: CoRE RBF, exact and hashed",
    {"quick": ["digits"], "full": ["usps", "mnist10k", "m-rotate", "20news"]}, measure, draw,
)  # fmt: skip
