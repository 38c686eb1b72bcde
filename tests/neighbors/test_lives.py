"""Random lives of an index beside a dense oracle: rows come and go, files are written and read.

There are LIVES of them, an environment variable: few in the everyday suite, many in `make bounds`.
"""

import os
import pickle

import numpy as np
import pytest
from scipy import sparse

import corekernels as ck
from corekernels.kernel_table import KERNELS, exact_kernel
from corekernels.neighbors import tuning
from corekernels.neighbors.candidates import METHODS
from corekernels.neighbors.duplicates import search
from support import oracles
from support.indexes import with_short_tail
from support.kernels import MinMax

LIVES = int(os.environ.get("LIVES", 20))
MOST_ROWS, MOST_COLUMNS = 2000, 300
WIDTHS = (5, 300, 4096, 4097, 65_536, 65_537, 10**6, 2**31, 2**40, 2**62, 2**63 - 1)
OF_UNIT_ROWS = [name for name, kernel in KERNELS.items() if kernel.unit_rows]
ANY = [*KERNELS, MinMax()]  # one of them from outside the package
# sums of up to 300 products of unit rows, times a gamma of up to 10
ROUNDING = 10 * MOST_COLUMNS * 2.0**-52


class Rows:
    """Rows of one kind, as they come: densely over some columns of many."""

    def __init__(self, rng):
        self.rng = rng
        self.n_columns = int(rng.choice(np.array(WIDTHS, object)))
        n_used = min(self.n_columns, whole_number(rng, 1, MOST_COLUMNS))
        self.columns = np.sort(rng.choice(min(self.n_columns, 10 * n_used), n_used, replace=False))
        self.columns += (self.n_columns - 1 - self.columns[-1]) * int(rng.integers(2))
        self.kind = rng.choice(["binary", "bytes", "whole", "real", "far apart"])
        self.dtype = rng.choice([np.float32, np.float64])
        self.share = rng.choice([0.02, 0.3, 0.7, 1.0])  # of columns, that a row has
        self.centres = self._draw(whole_number(rng, 1, 40))

    def new(self, n, n_known=None):
        """n rows about the centres, some of them empty or equal, of the first columns alone."""
        rng = self.rng
        rows = self.centres[rng.integers(0, len(self.centres), n)]
        rows = np.where(rng.random(rows.shape) < 0.1, self._draw(n), rows)
        rows[rng.random(n) < 0.05] = 0
        rows[:, len(self.columns) if n_known is None else n_known :] = 0
        return rows

    def matrix(self, dense):
        """The rows over all columns."""
        rows, places = np.nonzero(dense)
        return sparse.csr_array(
            (dense[rows, places], (rows, self.columns[places])), (len(dense), self.n_columns)
        )

    def _draw(self, n):
        rng, shape = self.rng, (n, len(self.columns))
        decades = 30 if self.dtype == np.float32 else 300
        values = {
            "binary": np.ones(shape),
            "bytes": rng.integers(1, 256, shape),
            "whole": rng.integers(-300, 300, shape),
            "real": rng.normal(size=shape),
            "far apart": 10.0 ** rng.uniform(-decades, decades, shape),
        }[self.kind]  # fmt: skip
        return (values * (rng.random(shape) < self.share)).astype(self.dtype)


class Life:
    """An index, and the rows that should be in it."""

    def __init__(self, seed, folder, method):
        self.rng = rng = np.random.default_rng(seed)
        self.folder, self.source = folder, Rows(rng)
        kernels = ANY if self.source.kind != "far apart" else OF_UNIT_ROWS
        self.kernel = kernels[rng.integers(len(kernels))]
        self.entry = exact_kernel(self.kernel)
        self.gamma = rng.choice([None, 0.1, 10.0]) if self.kernel == "core_rbf" else None
        if method != tuning.AUTO and not METHODS[method].serves(self.entry):
            method = tuning.AUTO
        n_known = whole_number(rng, 1, len(self.source.columns))
        self.rows = self.source.new(whole_number(rng, 1, MOST_ROWS), n_known)
        self.ids = np.arange(len(self.rows))
        index = ck.CoRENeighbors(
            self.kernel, whole_number(rng, 1, 60), method=method, gamma=self.gamma,
            recall=float(rng.choice([0.1, 0.9])), n_jobs=rng.choice([None, 1, 3]), random_state=0,
        )  # fmt: skip
        self.index = with_short_tail(
            index.fit(self.source.matrix(self.rows)), whole_number(rng, 1, 200)
        )

    def add(self):
        n = whole_number(self.rng, 1, 300)
        rows, first = self.source.new(n), max(self.ids, default=-1) + 1
        self.index.add(self.source.matrix(rows), ids=np.arange(first, first + n))
        self.rows, self.ids = (
            np.concatenate([self.rows, rows]),
            np.append(self.ids, first + np.arange(n)),
        )

    def update(self):
        places = np.flatnonzero(self.rng.random(len(self.ids)) < self.rng.choice([0.01, 0.3]))
        if len(places):
            rows = self.source.new(len(places))
            self.index.update(self.ids[places], self.source.matrix(rows))
            self.rows[places] = rows

    def remove(self):
        stays = self.rng.random(len(self.ids)) < self.rng.choice([0.0, 0.5, 0.95])
        self.index.remove(self.ids[~stays])
        self.rows, self.ids = self.rows[stays], self.ids[stays]
        if not len(self.ids):
            self.add()

    def save_and_load(self):
        if not isinstance(self.kernel, str):
            self.index = pickle.loads(pickle.dumps(self.index))
            return
        self.index.save(self.folder / "index")
        mmap = bool(self.rng.integers(2))
        self.index = ck.CoRENeighbors.load(self.folder / "index", mmap=mmap)

    def ask(self):
        """Neighbours of rows like those in the index, with columns that none of them has."""
        Q, k = self.source.new(20), int(self.rng.choice([1, 5, 60, 3000]))
        K = oracles.kernel(self.entry.name, Q, self.rows, self.gamma)
        self._require_nearest(K, k, *self.index.kneighbors(self.source.matrix(Q), k))

    def ask_of_itself(self):
        own = self._places(self.index.ids_)  # rows in order of arrival are the queries
        K = oracles.kernel(self.entry.name, self.rows[own], self.rows, self.gamma)
        K[np.arange(len(own)), own] = -np.inf  # no row is its own neighbour
        k = int(self.rng.choice([1, 10]))
        self._require_nearest(K, min(k, len(K) - 1), *self.index.kneighbors(None, k))

    def ask_within(self):
        Q, least = self.source.new(5), float(self.rng.uniform(-0.1, 1))
        K = oracles.kernel(self.entry.name, Q, self.rows, self.gamma)
        rounding = rounding_of(K)
        distances, ids = self.index.radius_neighbors(self.source.matrix(Q), 1 - least)
        for values, apart, mine in zip(K, distances, ids, strict=True):
            found = np.isin(self.ids, mine)
            assert found.sum() == len(mine)
            assert set(np.flatnonzero(values - least > rounding)) <= set(np.flatnonzero(found))
            np.testing.assert_allclose(1 - apart, values[self._places(mine)], atol=rounding, rtol=0)
            assert (1 - apart > least - rounding).all()

    def pair_up(self):
        if not self.entry.unit_diagonal:
            return
        least = float(self.rng.choice([0.5, 0.9, 1.0]))
        K = np.triu(oracles.kernel(self.entry.name, self.rows, gamma=self.gamma), 1)
        found = self.index.near_duplicates(least)
        pairs = np.sort(self._places(found.pairs), axis=1)
        assert len(np.unique(pairs, axis=0)) == len(pairs)
        values = K[pairs[:, 0], pairs[:, 1]]
        np.testing.assert_allclose(found.similarities, values, atol=ROUNDING, rtol=0)
        assert (found.similarities >= least).all()
        if found.expected_missed == 0:
            assert len(pairs) >= np.count_nonzero(K - least > ROUNDING)

    def _places(self, ids):
        places = np.searchsorted(self.ids, ids)
        assert (self.ids[places] == ids).all()
        return places

    def _require_nearest(self, K, k, distances, ids):
        """True kernel values, in order, of different rows; the nearest, if the search is exact."""
        n_kept = min(k, len(self.ids))
        assert distances.shape == ids.shape == (len(K), n_kept)
        assert (np.diff(distances, axis=1) >= 0).all()
        assert (np.diff(np.sort(ids, axis=1), axis=1) > 0).all()
        values = np.take_along_axis(K, self._places(ids), axis=1)
        rounding = rounding_of(K)
        np.testing.assert_allclose(1 - distances, values, atol=rounding, rtol=0)
        if self.index.method_ == "exact":
            nearest = -np.sort(-K, axis=1)[:, :n_kept]
            np.testing.assert_allclose(values, nearest, atol=rounding, rtol=0)


def rounding_of(K):
    """Rounding of the largest of the kernel values."""
    return ROUNDING * max(1.0, np.abs(K[np.isfinite(K)]).max(initial=0))


def whole_number(rng, least, most):
    """A number of random magnitude."""
    return int(np.exp(rng.uniform(np.log(least), np.log(most + 1))))


@pytest.mark.filterwarnings("ignore:exact search|graph|inverted|[0-9]+ tables:UserWarning")
# 36: a query without known columns; 113: added rows of which some are shorter than the query
@pytest.mark.parametrize("seed", sorted({*range(LIVES), 36, 113}))
def test_every_answer_is_true(seed, tmp_path, monkeypatch):
    monkeypatch.setattr(tuning, "FEW_ROWS", 100)
    monkeypatch.setattr(search, "_FEW_ROWS", 500)
    life = Life(seed, tmp_path, tuning.METHOD_NAMES[seed % len(tuning.METHOD_NAMES)])
    acts = [life.add, life.remove, life.update, life.save_and_load]
    questions = [life.ask, life.ask_of_itself, life.ask_within, life.pair_up]
    for _ in range(6):
        for what in (acts, questions):
            what[life.rng.integers(len(what))]()
    life.ask()
