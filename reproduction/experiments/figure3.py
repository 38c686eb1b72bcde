"""Figure 3: mean square errors of the estimators against the theorems, for pairs of words.

Slots are independent, so one long signature holds many shorter ones: means over k of its slots
are estimates with k hashes each. The standard error of their mean square error is known too: for
n estimates with kurtosis 3 + (kappa - 3) / k, where kappa is one slot's, it is the variance times
sqrt((kurtosis - 1) / n).
"""

from typing import Any

import numpy as np
from scipy import sparse, stats

import corekernels as ck
from corekernels.errors import FileError
from corekernels.report.layout import Figure, Line, Panel, Table
from corekernels.theory import Pair, variance_core1, variance_core2

from .. import datasets
from ..datasets.dataset import Array
from .experiment import Drawn, Experiment, Record, Records, Setting, binarised, seeds

HASHES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
PAIRS = {"a-the": ("a", "the"), "hong-kong": ("hong", "kong")}
DIGITS = "digits"
KINDS = ("counts", "binarised")
KERNELS = {"CoRE 1": "core1", "CoRE 2": "core2"}
VARIANCES = {"core1": variance_core1, "core2": variance_core2}  # of Theorems 1 and 2
CONFIDENCE = 0.95  # that all points of the figure lie in their bands
_SLOTS_AT_ONCE = 50_000


def measure(pair: str, setting: Setting) -> Record:
    """Mean square errors for each k, with the theorems' variance and its sampling error."""
    rows, results = _rows(pair, setting)
    n_slots = 1_000_000 if setting.full else 100_000
    for kind, X in zip(KINDS, (rows, binarised(rows)), strict=True):
        for title, kernel in KERNELS.items():
            products = slot_products(X, kernel, n_slots, setting)
            results[f"{kind}, {title}"] = _errors(products, X, kernel)
    return results


def slot_products(X: Any, kernel: str, n_slots: int, setting: Setting) -> Array:
    """For each slot, its contribution to the estimate of two rows' kernel."""
    parts = []
    for seed in seeds(setting.seed, n_slots // _SLOTS_AT_ONCE):
        hasher = ck.CoREHasher(
            kernel, _SLOTS_AT_ONCE, n_bits=None, scheme="independent", n_jobs=setting.n_jobs,
            random_state=seed,
        )  # fmt: skip
        S = hasher.fit(X).sketch(X)
        weights = np.asarray(S.weights, dtype=np.float64)
        parts.append((S.codes[0] == S.codes[1]) * weights[0] * weights[1])
    return np.concatenate(parts)


def variance(X: Any, kernel: str, k: int) -> float:
    """The variance that Theorem 1 or 2 gives for two rows."""
    u, v = sparse.csr_array(X, dtype=np.float64).toarray()
    return float(VARIANCES[kernel](Pair.of(u, v), k))


def draw(records: Records) -> Drawn:
    """The curves, and how many points lie in the band."""
    panels, rows = [], []
    found = records.results("figure3")
    n_points = max(1, len(found) * len(KINDS) * len(KERNELS) * len(HASHES))
    band = float(stats.norm.isf((1 - CONFIDENCE) / 2 / n_points))
    for pair, results in found.items():
        for kind in KINDS:
            label, lines = _title(pair, kind), []
            for title in KERNELS:
                lines += _lines(title, results[f"{kind}, {title}"], band)
                rows.append([label, title, *_summary(results[f"{kind}, {title}"], band)])
            axes = "hashes, k", "mean square error"
            panels.append(Panel(label, *axes, lines, log_x=True, log_y=True))
    text = (
        "Points are measured mean square errors, lines the variances of the theorems, bands "
        f"the sampling error: {band:.1f} standard errors, from the slots' fourth moment, so "
        f"that all {n_points} points lie in their bands in {100 * CONFIDENCE:g} % of such "
        "figures. The points of one curve are means of the same slots, and so deviate "
        "together. "
    )
    table = Table(
        "Mean square error times k, and the point furthest from theory over all k.",
        ["pair", "kernel", "theorem", "measured at k = 1", "at k = 1000",
         "furthest point, standard errors", "points in the band"],
        rows,
    )  # fmt: skip
    figure = Figure(
        "figure3", "Figure 3. Mean square errors (points) and variances (lines, with the "
        "band of sampling error) against k.",
        "Log-log curves of the error against k from 1 to 1000: straight lines falling "
        "as 1 over k, the measured points on them.",
        panels,
    )  # fmt: skip
    return Drawn(text + _comparison(found), [table], [figure])


def _rows(pair: str, setting: Setting) -> tuple[Any, Record]:
    if pair == DIGITS:
        data = setting.load(DIGITS)
        about = "Two images of the digit 0 among scikit-learn's digits; word counts need data."
        return data.X_train[np.flatnonzero(data.y_train == 0)[:2]], {"data": about}
    counts, words = datasets.word_counts(folder=setting.folder)
    absent = [word for word in PAIRS[pair] if word not in words]
    if absent:
        raise FileError(f"words: {', '.join(absent)} not among the words; fetch them again.")
    chosen = [words.index(word) for word in PAIRS[pair]]
    about = (
        "Word vectors: counts in the training documents of 20 Newsgroups; the paper counted "
        "in web pages."
    )
    return sparse.csr_array(counts)[chosen].astype(np.float64), {"data": about}


def _errors(products: Array, X: Any, kernel: str) -> Record:
    exact = float(getattr(ck, kernel)(X)[0, 1])
    errors = products - exact
    kurtosis = float(np.mean(errors**4) / np.mean(errors**2) ** 2)
    found: Record = {"kernel": exact, "k": list(HASHES), "mse": [], "variance": [], "error": []}
    for k in HASHES:
        n = len(products) // k
        estimates = products[: n * k].reshape(n, k).mean(axis=1)
        found["mse"].append(float(np.mean((estimates - exact) ** 2)))
        found["variance"].append(variance(X, kernel, k))
        spread = np.sqrt((2 + (kurtosis - 3) / k) / n)
        found["error"].append(found["variance"][-1] * float(spread))
    return found


def _lines(title: str, found: Record, band: float) -> list[Line]:
    theorem, error = np.array(found["variance"]), np.array(found["error"])
    low, high = theorem - band * error, theorem + band * error
    return [
        Line(title, found["k"], found["variance"], low.tolist(), high.tolist(), style="dashed"),
        Line(title, found["k"], found["mse"], style="points"),
    ]


def _summary(found: Record, band: float) -> list[str]:
    z = (np.array(found["mse"]) - found["variance"]) / found["error"]
    k, mse = found["k"], found["mse"]
    inside = int(np.sum(np.abs(z) <= band))
    return [
        f"{found['variance'][0]:.4g}", f"{mse[0]:.4g}", f"{mse[-1] * k[-1]:.4g}",
        f"{np.abs(z).max():.1f}", f"{inside} of {len(z)}",
    ]  # fmt: skip


def _title(pair: str, kind: str) -> str:
    if pair == DIGITS:
        return f"two images of 0, {'pixels' if kind == 'counts' else kind}"
    return f"{'–'.join(PAIRS[pair]).upper()}, {kind}"


def _comparison(found: dict[str, Record]) -> str:
    """How the variances of the two estimators compare, by the theorems."""
    ratios = []
    for pair, results in found.items():
        for kind in KINDS:
            first, second = (results[f"{kind}, {title}"]["variance"][0] for title in KERNELS)
            ratios.append(f"{second / first:.2g} on {_title(pair, kind)}")
    numerator, denominator = reversed(KERNELS)
    return f"{numerator}'s variance over {denominator}'s, by the theorems: {'; '.join(ratios)}."


EXPERIMENT = Experiment(
    "figure3", "Figure 3: errors of the estimators against Theorems 1 and 2",
    {"quick": [DIGITS], "full": [*PAIRS]}, measure, draw,
)  # fmt: skip
