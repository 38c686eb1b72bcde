"""Counts: the similarity of molecules beside RDKit, exact and hashed.

    python benchmarks/counts.py    # with the extra `bench`, which brings RDKit

Morgan fingerprints with counts (radius 2, 2,048 columns) of the molecules that come with RDKit.
Their count Tanimoto similarity, sum of minima over sum of maxima, is the resemblance of rows whose
counts are written as levels. All pairs, one thread, in turns in one process; values must be equal.
Then error bars: the share of 95 % intervals of hashed estimates that hold the exact value. Writes
counts.json in the folder of --out.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from rdkit import Chem, DataStructs, RDConfig, RDLogger, __version__
from rdkit.Chem import rdFingerprintGenerator
from scipy import sparse

import corekernels as ck
import measure

RESULTS = Path(__file__).parent / "results"
N_COLUMNS, N_HASHES, N_PAIRS, SEEDS = 2048, 256, 20_000, 20
QUANTILE = 1.959964  # of the normal distribution, for intervals of 95 %


def fingerprints(n_molecules):
    """RDKit's fingerprints with counts, and the same as rows."""
    RDLogger.DisableLog("rdApp.*")
    lines = (Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi").read_text().splitlines()
    molecules = [Chem.MolFromSmiles(line.split()[0]) for line in lines]
    molecules = [molecule for molecule in molecules if molecule is not None][:n_molecules]
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=N_COLUMNS)
    prints = [generator.GetCountFingerprint(molecule) for molecule in molecules]
    counts = [one.GetNonzeroElements() for one in prints]
    indptr = np.cumsum([0, *map(len, counts)])
    indices = np.concatenate([list(one) for one in counts])
    data = np.concatenate([list(one.values()) for one in counts]).astype(np.float64)
    return prints, sparse.csr_array((data, indices, indptr), shape=(len(prints), N_COLUMNS))


def coverage(X, exact):
    """The share of pairs whose 95 % interval holds the exact value, over several seeds."""
    rng, shares = np.random.default_rng(0), []
    for seed in range(SEEDS):
        S = ck.CoREHasher("resemblance", N_HASHES, random_state=seed).fit(X).sketch(X)
        i, j = rng.integers(0, len(exact), (2, N_PAIRS))
        estimates, errors = S.estimate_pairs(i, j)
        shares.append(np.mean(np.abs(estimates - exact[i, j]) <= QUANTILE * errors))
    return float(np.mean(shares))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--molecules", type=int, default=5000)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    prints, counts = fingerprints(options.molecules)
    levels = ck.Levels(None)

    def by_levels():
        return ck.resemblance(levels.fit_transform(counts))

    def by_rdkit():
        return np.array([DataStructs.BulkTanimotoSimilarity(one, prints) for one in prints])

    difference = float(np.abs(by_levels() - by_rdkit()).max())
    times = measure.interleaved({"corekernels": by_levels, "RDKit": by_rdkit}, 3)
    X = levels.transform(counts)
    results = {
        "machine": measure.machine(), "rdkit": __version__, "molecules": len(prints),
        "largest_difference": difference, "seconds": times,
        "times_faster": round(times["RDKit"]["processor"] / times["corekernels"]["processor"], 1),
        "coverage_of_95_percent_intervals": coverage(X, ck.resemblance(X)),
    }  # fmt: skip
    print(json.dumps({name: results[name] for name in list(results)[1:]}, indent=1))
    (options.out / "counts.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
