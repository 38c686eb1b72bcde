"""What a slot should hold: accuracy per byte and per second of hashed kernels on M-Rotate.

    COREKERNELS_DATA=folder python benchmarks/slots.py --processes 8
    COREKERNELS_DATA=folder python benchmarks/slots.py --built       # what the package has
    python benchmarks/slots.py --draw                  # the figure, from the results that are there

A slot is some bits of a location and a weight. Variants have fewer bits of each, so that more
slots fit into as many bytes, or orthogonal directions (each block of them an orthogonal matrix,
with lengths as of independent ones: Yu et al., "Orthogonal random features", 2016). Variants are
made from signatures: weights are rounded to the middle of one of 2^bits equal intervals. Bytes are
what packed slots would take; seconds are processor seconds of one thread, for the signatures as
they are, hashing included (orthogonal directions: a matrix product). C is chosen on held-out
training rows. With --built slots are those of `weight_bits`, which `CoREHasher` makes; bytes and
seconds are then those of the package. Writes slots.json, or slots-built.json, in the folder of
--out.
"""

import argparse
import json
import math
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import corekernels as ck
import measure
from paper import datasets, tuning_rows

SEED = 0
RESULTS = Path(__file__).parent / "results"
FIGURE = Path(__file__).parents[1] / "docs" / "images" / "slots.svg"
N_TEST = 5000
CS = (0.3, 1.0, 3.0)
MOST_BYTES = 3 * 4096  # per row
FLOAT_BITS = 16
LARGEST = {"core1": 2.5, "core_rbf": math.sqrt(2)}  # weights beyond are rounded to this
# bits of the location, bits of the weight
SLOTS = (
    (8, 16), (4, 16), (2, 16), (1, 16), (8, 8), (4, 8), (8, 4), (4, 4), (5, 3), (6, 2), (7, 1),
    (3, 1),
)  # fmt: skip


@dataclass(frozen=True)
class Variant:
    """What a slot holds, and how many there are."""

    kernel: str
    gamma: float | None
    n_hashes: int
    code_bits: int
    weight_bits: int
    orthogonal: bool = False
    built: bool = False

    @property
    def n_bytes(self) -> float:
        """Bytes per row."""
        return self.n_hashes * (self.code_bits + self.weight_bits) / 8


def variants() -> list[Variant]:
    """All variants that are measured, those that take long first."""
    found = []
    for kernel, gamma in (("core1", None), ("core_rbf", 2.0), ("core_rbf", 4.0)):
        for code_bits, weight_bits in SLOTS:
            for k in (256, 1024, 2048, 4096, 8192, 12_288):
                one = Variant(kernel, gamma, k, code_bits, weight_bits)
                if one.n_bytes <= MOST_BYTES and (kernel == "core_rbf" or k in (1024, 4096)):
                    found.append(one)
                    if weight_bits == FLOAT_BITS and code_bits in (8, 4) and k <= 4096:
                        found.append(replace(one, orthogonal=True))
    return sorted(found, key=lambda one: (-one.n_hashes, -one.code_bits))


def built_variants() -> list[Variant]:
    """Slots that the package has."""
    one = Variant("core_rbf", 2.0, 4096, 8, 16, built=True)
    return [
        replace(one, n_hashes=12_288, code_bits=4, weight_bits=4),
        *(
            replace(one, kernel=kernel, gamma=gamma, code_bits=code_bits, weight_bits=weight_bits)
            for kernel, gamma in (("core_rbf", 2.0), ("core1", None))
            for code_bits, weight_bits in ((8, 16), (8, 8), (4, 16), (4, 4))
        ),
    ]


@cache
def rows() -> datasets.Dataset:
    """M-Rotate."""
    return datasets.load("m-rotate", seed=SEED)


def signatures(variant: Variant, X: Any) -> ck.Signatures:
    """Signatures of rows, changed to what the variant says."""
    kernel, gamma, k = variant.kernel, variant.gamma, variant.n_hashes
    if variant.built:
        bits = {"n_bits": variant.code_bits, "weight_bits": variant.weight_bits}
    else:
        bits = {"n_bits": 8}
    hasher = ck.CoREHasher(kernel, k, gamma=gamma, **bits, random_state=SEED, n_jobs=1).fit(X)
    S = hasher.sketch(X)
    if variant.built:
        return S
    if variant.orthogonal:
        S = S.with_arrays(weights=orthogonal_weights(variant, X).astype(np.float16))
    if variant.weight_bits < FLOAT_BITS:
        S = S.with_arrays(weights=rounded(S.weights, variant.weight_bits, LARGEST[kernel]))
    return S if variant.code_bits == 8 else S.narrow(variant.code_bits)


def rounded(weights: np.ndarray, n_bits: int, largest: float) -> np.ndarray:
    """Weights in the middle of one of 2^n_bits equal intervals of [-largest, largest]."""
    half, step = 1 << n_bits - 1, largest / (1 << n_bits - 1)
    numbers = np.clip(np.floor(weights.astype(np.float32) / step), -half, half - 1)
    return ((numbers + 0.5) * step).astype(np.float16)


def orthogonal_weights(variant: Variant, X: Any) -> np.ndarray:
    """Projections of unit rows on orthogonal directions, and for CoRE RBF their cosines."""
    rng = np.random.default_rng(SEED)
    n_columns = X.shape[1]
    blocks = []
    for _ in range(-(-variant.n_hashes // n_columns)):
        directions, _ = np.linalg.qr(rng.normal(size=(n_columns, n_columns)))
        lengths = np.linalg.norm(rng.normal(size=(n_columns, n_columns)), axis=1)
        blocks.append(directions * lengths)
    directions = np.concatenate(blocks, axis=1)[:, : variant.n_hashes].astype(np.float32)
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    projections = (X.astype(np.float32) @ directions) / np.maximum(lengths, 1e-30)[:, None]
    if variant.kernel == "core1":
        return projections
    phases = rng.uniform(0, 2 * math.pi, variant.n_hashes).astype(np.float32)
    return math.sqrt(2) * np.cos(math.sqrt(variant.gamma or 0) * projections + phases)


def measured(variant: Variant) -> dict[str, Any]:
    """Accuracy, bytes and seconds of one variant."""
    data = rows()
    X, y = data.X_train, np.asarray(data.y_train)
    few = signatures(variant, X[:300])
    model = ck.linear.HashedLinearClassifier(tol=1e-2, max_iter=100, random_state=SEED, n_jobs=1)
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        model.fit(few, y[:300])  # compiles
        start = time.process_time()
        S = signatures(variant, X)
        hashed = time.process_time()
        learned, held_out = tuning_rows(len(y), SEED)
        path = ck.linear.c_path(
            S[learned], y[learned], CS, model=model, validation=(S[held_out], y[held_out]),
            progress=False,
        )  # fmt: skip
        chosen = time.process_time()
        model.set_params(C=path.best_C).fit(S, y)
        fitted = time.process_time()
    T = signatures(variant, data.X_test[:N_TEST])
    return asdict(variant) | {
        "bytes_per_row": S.recipe.bytes_per_row if variant.built else variant.n_bytes,
        "C": path.best_C,
        "accuracy": round(100 * float(model.score(T, data.y_test[:N_TEST])), 2),
        "hash": round(hashed - start, 3),
        "choose_C": round(chosen - hashed, 3),
        "fit": round(fitted - chosen, 3),
    }


def title(one: dict[str, Any]) -> str:
    """What a line of the figure is called."""
    bits = f"{one['code_bits']} + {one['weight_bits']} bits"
    return bits + (", orthogonal" if one["orthogonal"] else "")


def draw(found: list[dict[str, Any]]) -> None:
    """Accuracy against bytes per row and against seconds, a line per variant."""
    from matplotlib.figure import Figure

    kinds = [("core_rbf", 2.0), ("core_rbf", 4.0)]
    figure = Figure(figsize=(12, 8), layout="constrained")
    axes = figure.subplots(len(kinds), 2, sharey="row")
    for line, (kernel, gamma) in zip(axes, kinds, strict=True):
        mine = [one for one in found if (one["kernel"], one["gamma"]) == (kernel, gamma)]
        mine.sort(
            key=lambda one: (
                one["orthogonal"], SLOTS.index((one["code_bits"], one["weight_bits"])),
                one["n_hashes"],
            )
        )  # fmt: skip
        for number, name in enumerate(dict.fromkeys(title(one) for one in mine)):
            points = [one for one in mine if title(one) == name]
            style = "o-" if number < 10 else "s--"  # there are ten colours
            accuracies = [one["accuracy"] for one in points]
            seconds = [one["hash"] + one["fit"] for one in points]
            for panel, x in zip(
                line, ([one["bytes_per_row"] for one in points], seconds), strict=True
            ):
                panel.plot(x, accuracies, style, ms=4, lw=1, label=name)
        name = f"CoRE RBF, γ = {gamma:g}"
        line[0].set(
            xscale="log", xlim=(400, None), xlabel="bytes per row", ylabel="accuracy, %", title=name
        )
        line[1].set(
            xscale="log", xlim=(0.6, None), xlabel="seconds to hash and fit, one thread", title=name
        )
        line[1].legend(
            fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5),
            title="location + weight",
        )  # fmt: skip
        line[0].set_ylim(bottom=76)
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--most-hashes", type=int, default=12_288, help="skip larger variants")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="DIR")
    parser.add_argument("--built", action="store_true", help="measure what the package has")
    parser.add_argument("--draw", action="store_true", help="draw only")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / ("slots-built.json" if args.built else "slots.json")
    found = json.loads(path.read_text())["variants"] if path.exists() else []
    if args.draw:
        draw(found)
        return
    names = Variant.__annotations__
    known = {Variant(**{name: one[name] for name in names if name in one}) for one in found}
    wanted = built_variants() if args.built else variants()
    todo = [one for one in wanted if one.n_hashes <= args.most_hashes and one not in known]
    with ProcessPoolExecutor(args.processes, get_context("spawn")) as pool:
        for done in as_completed([pool.submit(measured, one) for one in todo]):
            found.append(done.result())
            print(json.dumps(found[-1]), flush=True)
            about = {"machine": measure.machine(), "seed": SEED, "n_test": N_TEST}
            path.write_text(json.dumps({**about, "variants": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
