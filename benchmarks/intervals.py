"""How often the exact kernel value lies within 1.96 standard errors of its estimate.

    python benchmarks/intervals.py               # everything, a few minutes
    python benchmarks/intervals.py --families dense far --kernels core2

Families of generated pairs, all kernels, schemes, bits and numbers of hashes. Nominal is 95 %;
cells outside 92 to 98 % are listed. Beside the coverage stands the root mean square of the
standard errors over that of the true errors: 1 is right, more is too wide. Writes, or adds to,
intervals.json in the folder of `--out`, benchmarks/results.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

import corekernels as ck
import measure

SEED = 0
RESULTS = Path(__file__).parent / "results"
KERNELS = {
    "resemblance": {"kernel": "resemblance"},
    "core1": {"kernel": "core1"},
    "core2": {"kernel": "core2"},
    "core_rbf": {"kernel": "core_rbf", "gamma": 1.0},
}
SCHEMES = ("circulant", "independent")
BITS = (1, 4, 8, None)
HASHES = (64, 256, 1024)
LOW, HIGH = 0.92, 0.98
Z = 1.96
KEYS = ("family", "kernel", "scheme", "n_hashes", "n_bits")
Cells = dict[tuple, dict[str, float]]
Values = Callable[[np.random.Generator, int], np.ndarray]  # the values of two rows


def even(rng: np.random.Generator, n: int) -> np.ndarray:
    """Values like those of TF-IDF, similar in both rows."""
    return rng.lognormal(0, 0.5, n) * rng.lognormal(0, 0.3, (2, n))


def heavy(rng: np.random.Generator, n: int) -> np.ndarray:
    """Counts, most of them 1 and a few very large, similar in both rows."""
    return np.ceil(rng.pareto(0.8, n) * rng.uniform(0.3, 1.7, (2, n)))


class Family(NamedTuple):
    """Pairs of rows: ranges of the number of nonzeros and of the resemblance."""

    n_columns: int
    lengths: tuple[int, int]
    resemblance: tuple[float, float]
    values: Values = even


FAMILIES = {
    "dense": Family(784, (400, 600), (0.5, 0.9)),
    "sparse": Family(47_236, (40, 120), (0.1, 0.8)),
    "wide": Family(10**6, (40, 120), (0.1, 0.8)),
    "short": Family(10**6, (5, 20), (0.1, 0.8)),
    "heavy-tailed": Family(47_236, (50, 500), (0.1, 0.8), heavy),
    "far": Family(47_236, (40, 120), (0.005, 0.05)),
    "64 columns": Family(64, (15, 45), (0.2, 0.8)),
    "10 columns": Family(10, (3, 7), (0.2, 0.8)),
}


def pairs_of(family: Family, n_pairs: int, rng: np.random.Generator) -> sparse.csr_array:
    """Rows 2 i and 2 i + 1 are a pair."""
    blocks = []
    while len(blocks) < n_pairs:
        f1, f2 = rng.integers(*family.lengths, 2, endpoint=True)
        R = rng.uniform(*family.resemblance)
        a = round((f1 + f2) * R / (1 + R))
        union = f1 + f2 - a
        if not (0 < a <= min(f1, f2) and union <= family.n_columns):
            continue
        values = family.values(rng, union)
        values[0, f1:], values[1, : union - f2] = 0, 0
        columns = rng.choice(family.n_columns, union, replace=False)
        row, place = np.nonzero(values)
        shape = (2, family.n_columns)
        blocks.append(sparse.csr_array((values[row, place], (row, columns[place])), shape=shape))
    return sparse.vstack(blocks, format="csr")


def exact_values(X: sparse.csr_array, kernel: str, **parameters: float) -> np.ndarray:
    """Kernel values of all pairs."""
    K = getattr(ck, kernel)(X[::2], X[1::2], **parameters)
    return np.diagonal(K).astype(np.float64)


def coverage(
    X: sparse.csr_array, recipe: dict[str, object], n_seeds: int
) -> Iterator[tuple[int | None, dict[str, float]]]:
    """For each number of bits the coverage over all pairs and seeds."""
    parameters = {name: recipe[name] for name in ("kernel", "gamma") if name in recipe}
    exact = exact_values(X, **parameters)
    i = np.arange(0, X.shape[0], 2)
    errors, reported = ({b: [] for b in BITS} for _ in range(2))
    for seed in range(n_seeds):
        hasher = ck.CoREHasher(**recipe, n_bits=None, random_state=seed)
        whole = hasher.fit(X).sketch(X)
        for n_bits in BITS:
            S = whole if n_bits is None else whole.narrow(n_bits)
            estimate, error = S.estimate_pairs(i, i + 1)
            errors[n_bits].append(np.abs(estimate - exact))
            reported[n_bits].append(error)
    for n_bits in BITS:
        true, found = np.array(errors[n_bits]), np.array(reported[n_bits])
        rms = np.sqrt(np.mean(np.square(true)))
        yield (
            n_bits,
            {
                "coverage": round(float(np.mean(true <= Z * found)), 4),
                "width": round(float(np.sqrt(np.mean(np.square(found))) / rms), 3),
            },
        )


def table(cells: Cells) -> str:
    """One line per family, kernel and scheme: coverage in percent for each k, by bits."""
    lines = ["| family | kernel | scheme | " + " | ".join(f"k = {k}" for k in HASHES) + " |"]
    lines.append("|" + "---|" * (3 + len(HASHES)))
    for key in dict.fromkeys(key[:3] for key in cells):
        by_k = [
            " ".join(f"{100 * cells[*key, k, n_bits]['coverage']:.0f}" for n_bits in BITS)
            for k in HASHES
        ]
        lines.append("| " + " | ".join([*key, *by_k]) + " |")
    return "\n".join(lines)


def measured_before(path: Path, settings: dict[str, int]) -> Cells:
    """The cells of the results that are there, if they were measured with the same settings."""
    if not path.exists():
        return {}
    found = json.loads(path.read_text())
    if found["settings"] != settings:
        return {}
    return {tuple(cell.pop(key) for key in KEYS): cell for cell in found["cells"]}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--kernels", nargs="+", choices=KERNELS, default=list(KERNELS))
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="DIR")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    target = args.out / "intervals.json"
    settings = {"pairs": args.pairs, "seeds": args.seeds, "seed": SEED}
    cells = measured_before(target, settings)
    for name in args.families:
        X = pairs_of(FAMILIES[name], args.pairs, np.random.default_rng(SEED))
        for kernel, scheme, k in product(args.kernels, SCHEMES, HASHES):
            recipe = KERNELS[kernel] | {"n_hashes": k, "scheme": scheme}
            for n_bits, numbers in coverage(X, recipe, args.seeds):
                cells[name, kernel, scheme, k, n_bits] = numbers
        print(table({key: cell for key, cell in cells.items() if key[0] == name}), flush=True)
        rows = [dict(zip(KEYS, key, strict=True)) | cell for key, cell in cells.items()]
        found = {"machine": measure.machine(), "settings": settings, "cells": rows}
        target.write_text(json.dumps(found, indent=1) + "\n")
    outside = [row for row in rows if not LOW <= row["coverage"] <= HIGH]
    for row in outside:
        print(json.dumps(row))
    print(f"{len(rows) - len(outside)} of {len(rows)} cells within {LOW} to {HIGH}")


if __name__ == "__main__":
    main()
