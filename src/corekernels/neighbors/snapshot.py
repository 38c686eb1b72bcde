"""One state of an index: never changed, only followed by another.

Rows found by the chosen method come first; rows added since stand in a tail that is searched
exactly, until it is long enough to be worth growing the method's index. Removed rows are
marked. Once many of them are gone, or rows have doubled, the method is to be chosen anew for the
rows there are. A search holds one snapshot and sees one state throughout.
"""

import itertools
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from .._core.arguments import (
    Array,
    PathLike,
    parameters_for_file,
    require_count,
)
from .._core.forks import computed_once
from .._core.threads import row_blocks, run_blocks, thread_count
from .._core.validation import Rows, read_only
from .._loops.search.pairs import Heaps
from .._loops.search.preparation import (
    BAD_BITS,
    BAD_COLUMN,
    BAD_SQUARES,
    BAD_VALUE,
    SOUND,
    inspect_rows,
)
from ..errors import ParameterError
from ..io.containers import load_arrays, save_arrays
from ..io.provenance import (
    Origin,
    checking,
    column_names,
    provenance_entries,
    read_provenance,
    require_fit,
    whole_number,
)
from ..kernel_table import exact_kernel
from ..recipe import CONTRACT, MAX_COLUMNS, MAX_SEED, require_contract
from ..text.frequencies import InverseDocumentFrequency
from .candidates import METHODS, Exact, SearchMethod
from .candidates.base import Tuned, search_all
from .store import NARROW, Store, as_ids, join, make_store, n_words, require_recall, restore
from .tuning import method_of

MODES = ("connectivity", "distance")  # of graphs of neighbours
TAIL_ROWS = 1024
_TAIL_SHARE = 32  # the tail may have one row for this many of the others
_DEAD_SHARE = 4  # one in this many of the method's rows may be a removed one
_GROWTH = 2  # times the rows for which the method was chosen
_FIRST_WITHIN = 64


@dataclass(frozen=True)
class Snapshot:
    """Rows in order of arrival: those of `main`, then those of `tail`."""

    main: SearchMethod
    tail: Exact | None
    ids: Array  # what the user calls each row: a number, or a string as an object
    alive: Array  # 0 where a row was removed
    reason: str  # why the method was chosen
    recall: float  # that it had on held-out rows then
    n_tuned: int  # rows there were then
    tail_rows: int = TAIL_ROWS  # that the tail may have, however few the others

    @classmethod
    def begin(cls, chosen: Tuned, ids: Array, tail_rows: int = TAIL_ROWS) -> "Snapshot":
        """The state after a method was chosen for rows."""
        alive, about = np.ones(len(ids), np.uint8), (chosen.reason, chosen.recall, len(ids))
        return cls(chosen.method, None, read_only(ids), read_only(alive), *about, tail_rows)

    @computed_once
    def n_alive(self) -> int:
        """Number of rows that can be found."""
        return int(np.count_nonzero(self.alive))

    @computed_once
    def _n_main_alive(self) -> int:
        """How many of them the method finds."""
        return int(np.count_nonzero(self.alive[: len(self.main.store)]))

    @property
    def nbytes(self) -> int:
        """Bytes of the rows, their ids and what the method keeps."""
        parts = [part for part in (self.main, self.tail) if part is not None]
        rows = sum(part.store.nbytes + part.nbytes for part in parts)
        return rows + self.ids.nbytes + self.alive.nbytes

    def positions_of(self, ids: Any) -> Array:
        """Positions of the rows with these ids; an error if one is not in the index."""
        numbers = np.unique(as_ids([ids] if isinstance(ids, str) else np.atleast_1d(ids)))
        living = np.flatnonzero(self.alive)
        living_ids = self.ids[living]
        same_kind = (numbers.dtype == object) == (living_ids.dtype == object)
        strange = numbers[~np.isin(numbers, living_ids)] if same_kind else numbers
        if len(strange):
            raise ParameterError(
                f"ids: {strange[0]!s} is not in the index; `ids_` lists those that are."
            )
        return living[np.isin(living_ids, numbers)]

    def graph(self, keys: Array, positions: Array, lengths: Array, mode: str) -> sparse.csr_matrix:
        """Neighbours of queries as rows of a sparse matrix over the rows that can be found.

        A matrix, not an array, as scikit-learn gives one and UMAP takes no other.
        """
        columns = (np.cumsum(self.alive, dtype=np.int64) - 1)[positions]
        data = np.ones(len(keys)) if mode == "connectivity" else 1 - keys
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        return sparse.csr_matrix((data, columns, indptr), shape=(len(lengths), self.n_alive))

    def living(self) -> tuple[Store, Array]:
        """The rows that can be found, and their positions."""
        store = self.main.store if self.tail is None else join(self.main.store, self.tail.store)
        positions = np.flatnonzero(self.alive)
        return store if len(positions) == len(store) else store.take(positions), positions

    def nearest(self, rows: Rows, n_kept: int, n_jobs: int | None, *, exact: bool = False) -> Heaps:
        """The nearest rows of each query, sorted."""
        main = self.main.exact if exact else self.main
        n_main = len(main.store)
        # candidates that were removed must not crowd out others
        spare = n_main / max(1, self._n_main_alive)
        parts: list[tuple[SearchMethod, int, float]] = [(main, 0, spare)]
        if self.tail is not None:
            parts.append((self.tail, n_main, 1.0))
        return search_all(parts, rows, self.alive, n_kept, n_jobs)

    def within(self, rows: Rows, least: float, n_jobs: int | None) -> list[tuple[Array, Array]]:
        """Kernel values and positions of all rows of at least that value, by exact search."""
        results: list[Any] = [None] * len(rows)
        waiting = np.arange(len(rows))
        n_kept, n_alive = _FIRST_WITHIN, self.n_alive
        while len(waiting):
            n_kept = min(n_kept, max(1, n_alive))
            heaps = self.nearest(rows.take(waiting), n_kept, n_jobs, exact=True)
            full = (heaps.keys >= least).sum(axis=1)
            done = (full < n_kept) | (n_kept >= n_alive)
            for q in np.flatnonzero(done):
                results[waiting[q]] = heaps.keys[q, : full[q]], heaps.rows[q, : full[q]]
            waiting, n_kept = waiting[~done], n_kept * 4
        return results

    def with_rows(self, rows: Rows, ids: Array, n_jobs: int | None) -> "Snapshot":
        """The state after rows were added."""
        fresh = make_store(rows, self.main.store.kernel, n_jobs)
        tail = fresh if self.tail is None else join(self.tail.store, fresh, n_jobs)
        ids = np.concatenate([self.ids, ids])
        alive = np.append(self.alive, np.ones(len(rows), np.uint8))
        return replace(self, tail=Exact(tail), ids=read_only(ids), alive=read_only(alive))

    def without(self, positions: Array) -> "Snapshot":
        """The state after rows were removed."""
        alive = self.alive.copy()
        alive[positions] = 0
        n_main = len(self.main.store)
        if self.tail is None or alive[n_main:].all():
            return replace(self, alive=read_only(alive))
        kept = np.flatnonzero(alive[n_main:])
        tail = Exact(self.tail.store.take(kept)) if len(kept) else None
        stays = np.append(np.arange(n_main), n_main + kept)
        ids, alive = read_only(self.ids[stays]), read_only(alive[stays])
        return replace(self, tail=tail, ids=ids, alive=alive)

    @property
    def is_outgrown(self) -> bool:
        """Whether the method was chosen for rows too unlike these in number.

        Each time, the number of rows has grown or shrunk by a factor, so that choosing costs a
        bounded amount per row added or removed, however small the batches.
        """
        n_main = len(self.main.store)
        n_dead = n_main - self._n_main_alive
        if n_dead * _DEAD_SHARE > n_main:
            return self.n_alive > 0
        return self._is_tail_long and self.n_alive >= _GROWTH * self.n_tuned

    def settled(self, n_jobs: int | None) -> "Snapshot":
        """The same rows, those of a long tail taken in by the method."""
        if self.tail is None or not self._is_tail_long:
            return self
        main = self.main.grown(join(self.main.store, self.tail.store, n_jobs), n_jobs)
        return replace(self, main=main, tail=None)

    @property
    def _is_tail_long(self) -> bool:
        most = max(self.tail_rows, len(self.main.store) // _TAIL_SHARE)
        return self.tail is not None and len(self.tail.store) > most


Model = TypeVar("Model")

_KIND = "index"
_FILE_VERSION = 1
_BLOCK_ROWS = 1 << 12
_PROBLEMS = {
    BAD_COLUMN: "a column is out of range or out of order",
    BAD_VALUE: "a value is not finite",
    BAD_BITS: "the bits of a row are not those of its columns",
    BAD_SQUARES: "a sum of squares is not that of its row",
}


def write_index(
    path: PathLike, model: Any, snapshot: Snapshot, provenance: Iterable[Origin]
) -> None:
    """Write an index."""
    names = getattr(model, "feature_names_in_", None)
    main = snapshot.main
    about: dict[str, Any] = {
        "parameters": parameters_for_file(model, model.seed_, main.store.kernel.gamma),
        "facts": {
            "method_": main.name, "reason_": snapshot.reason, "estimated_recall_": snapshot.recall,
            "seed_": model.seed_, "n_features_in_": model.n_features_in_,
        },
        "feature_names": None if names is None else [str(name) for name in names],
        "source": main.settings(),
        "contract": CONTRACT,
        "n_wanted": main.n_wanted,
        "n_tuned": snapshot.n_tuned,
        "sources": provenance_entries(provenance),
    }  # fmt: skip
    parts = {"main": main.store.arrays(), "source": main.arrays()}
    if snapshot.tail is not None:
        parts["tail"] = snapshot.tail.store.arrays()
    arrays = {f"{part}.{name}": array for part in parts for name, array in parts[part].items()}
    arrays["alive"] = snapshot.alive
    if snapshot.ids.dtype == object:
        arrays |= _text_arrays("ids", snapshot.ids.tolist())
    else:
        arrays["ids"] = snapshot.ids
    if model.names_ is not None:
        arrays |= _text_arrays("names", model.names_)
    if model.frequencies_ is not None:
        counted, about["frequencies"] = model.frequencies_.parts()
        arrays |= {f"frequencies.{name}": array for name, array in counted.items()}
    if model.documents_ is not None:
        folder = os.path.dirname(os.path.abspath(path))
        paths = [os.path.relpath(source, folder) for source in model.documents_["paths"]]
        about["documents"] = model.documents_ | {"paths": paths}
    try:
        save_arrays(path, _KIND, _FILE_VERSION, arrays, about)
    except TypeError as error:
        raise ParameterError(f"a parameter cannot be held by a file ({error}).") from error


def read_index(path: PathLike, cls: type[Model], *, mmap: bool) -> tuple[Model, Snapshot]:
    """An estimator and its index from a file, after checks that its parts fit together.

    Every number that a search would use as a position is looked at here, in threads.
    """
    arrays, about = load_arrays(path, _KIND, _FILE_VERSION, mmap=mmap)
    with checking(path, "save the index again"):
        require_contract(about.get("contract"))
        parameters, facts = dict(about["parameters"]), dict(about["facts"])
        method_of(parameters["method"])
        require_count("n_neighbors", parameters["n_neighbors"])
        require_recall(parameters["recall"])
        thread_count(parameters["n_jobs"])
        model: Any = cls(**parameters)
        model.seed_ = whole_number(facts["seed_"], 0, MAX_SEED, "the seed")
        n_columns = whole_number(facts["n_features_in_"], 1, MAX_COLUMNS, "the number of columns")
        model.n_features_in_ = n_columns
        names = column_names(about["feature_names"], n_columns)
        if names is not None:
            model.feature_names_in_ = names
        model.provenance_ = read_provenance(about.get("sources"))
        model.names_ = _read_texts("names", arrays)
        model.frequencies_ = model.documents_ = None
        if "frequencies" in about:
            counted = _part("frequencies", arrays)
            model.frequencies_ = InverseDocumentFrequency.of_parts(counted, about["frequencies"])
        if "documents" in about:
            folder = os.path.dirname(os.path.abspath(path))
            paths = [os.path.join(folder, source) for source in about["documents"]["paths"]]
            model.documents_ = about["documents"] | {"paths": paths}
        snapshot = _read_snapshot(model, about, arrays)
    return model, snapshot


def _text_arrays(name: str, texts: list[str]) -> dict[str, Array]:
    """Texts as UTF-8, one after the other, and where each ends."""
    encoded = [text.encode() for text in texts]
    return {
        f"{name}.ends": np.cumsum([len(text) for text in encoded], dtype=np.int64),
        f"{name}.text": np.frombuffer(b"".join(encoded), np.uint8),
    }


def _read_texts(name: str, arrays: dict[str, Array]) -> list[str] | None:
    """The texts of that name, if there are any."""
    if f"{name}.ends" not in arrays:
        return None
    ends, text = arrays[f"{name}.ends"].tolist(), arrays[f"{name}.text"].tobytes()
    return [text[start:stop].decode() for start, stop in itertools.pairwise([0, *ends])]


def _part(prefix: str, arrays: dict[str, Array]) -> dict[str, Array]:
    """The arrays whose names begin with that prefix and a dot, without these."""
    start = f"{prefix}."
    return {key[len(start) :]: array for key, array in arrays.items() if key.startswith(start)}


def _read_ids(arrays: dict[str, Array]) -> Array:
    texts = _read_texts("ids", arrays)
    if texts is not None:
        return np.array(texts, dtype=object)
    require_fit(arrays["ids"].dtype == np.int64, "ids are of the wrong type")
    return arrays["ids"]


def _read_snapshot(model: Any, about: dict[str, Any], arrays: dict[str, Array]) -> Snapshot:
    kernel, n_columns = exact_kernel(model.kernel, model.gamma), model.n_features_in_
    require_fit(model.gamma == kernel.gamma, "the kernel's gamma is missing")

    store = _checked_store(restore(kernel, n_columns, _part("main", arrays)))
    tail = None
    if tail_arrays := _part("tail", arrays):
        tail = Exact(_checked_store(restore(kernel, n_columns, tail_arrays)))
    facts = about["facts"]
    method = METHODS[facts["method_"]]
    least = int(not method.is_exact)  # exact search is tuned to no number
    n_wanted = whole_number(about["n_wanted"], least, 2**31, "the number of neighbours")
    main = method.restored(store, n_wanted, about["source"], _part("source", arrays))
    n_rows = len(store) + (0 if tail is None else len(tail.store))
    ids, alive = _read_ids(arrays), arrays["alive"]
    require_fit(ids.shape == alive.shape == (n_rows,), "ids do not fit the rows")
    require_fit(alive.dtype == np.uint8, "marks of removed rows are of the wrong type")
    require_fit(n_rows == 0 or int(alive.max()) <= 1, "marks of removed rows are out of range")
    living = ids if alive.all() else ids[alive > 0]
    is_unique = bool((living[1:] > living[:-1]).all()) or len(np.unique(living)) == len(living)
    require_fit(is_unique, "an id occurs twice")
    reason, recall = facts["reason_"], require_recall(facts["estimated_recall_"])
    require_fit(isinstance(reason, str), "the reason is no text")
    n_tuned = whole_number(about["n_tuned"], 0, 2**63, "the number of rows tuned to")
    return Snapshot(main, tail, read_only(ids), read_only(alive), reason, recall, n_tuned)


def _checked_store(store: Store) -> Store:
    """The store, if its parts fit together and no loop can leave its arrays."""
    n, ends = len(store), store.indptr
    dimensions = {name: array.ndim for name, array in store.arrays().items() if name != "bits"}
    require_fit(set(dimensions.values()) == {1}, "an array has several dimensions")
    require_fit(ends.shape == (n + 1,) and ends.dtype == np.int64, "row pointers do not fit")
    require_fit(ends[0] == 0 and bool((np.diff(ends) >= 0).all()), "row pointers decrease")
    require_fit(ends[-1] == len(store.columns) == len(store.values), "values do not fit")
    is_stored_type = store.values.dtype in (np.uint8, np.float32, np.float64)
    require_fit(is_stored_type, "values are of no known type")
    require_fit(store.squares.dtype == np.float64, "sums of squares are of the wrong type")
    words, is_wide = store.vocabulary, store.n_columns > NARROW
    require_fit(words.dtype == np.int64, "the vocabulary is of the wrong type")
    require_fit(is_wide or len(words) == 0, "the vocabulary does not fit")
    in_range = len(words) == 0 or (words[0] >= 0 and words[-1] < store.n_columns)
    require_fit(in_range and bool((np.diff(words) > 0).all()), "the vocabulary is out of order")
    narrow = store.columns.dtype == (np.uint16 if store.width <= NARROW else np.int32)
    require_fit(narrow, "columns are of the wrong type")
    fits = store.bits.shape == (n, n_words(store.width)) and store.bits.dtype == np.uint64
    require_fit(fits, "bits do not fit")

    parts = map(read_only, (ends, store.columns, store.values, store.squares, store.bits))
    arrays = store.width, *parts

    def inspect(block: tuple[int, int]) -> int:
        return int(inspect_rows(*block, *arrays, np.empty(store.bits.shape[1], np.uint64)))

    problem = max(run_blocks(inspect, row_blocks(0, n, _BLOCK_ROWS), None), default=SOUND)
    require_fit(problem == SOUND, _PROBLEMS.get(problem, ""))
    return store
