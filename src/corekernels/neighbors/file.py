"""Indexes as files: rows, method and ids in safetensors, the rest as JSON."""

import itertools
from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np

from .._core.arguments import require_count
from .._core.types import Array, PathLike
from .._core.validation import read_only
from ..errors import FileError, ParameterError
from ..io.containers import load_arrays, save_arrays
from ..io.provenance import Origin, read_provenance
from ..kernel_table import hashed_kernel
from .arguments import require_recall
from .candidates import METHODS, Exact
from .candidates.base import require_fit
from .snapshot import Snapshot
from .store import NARROW, Store, n_words, restore

Model = TypeVar("Model")

_KIND = "index"
_FILE_VERSION = 1
_FACTS = ("method_", "reason_", "estimated_recall_", "seed_", "n_features_in_")


def write_index(
    path: PathLike, model: Any, snapshot: Snapshot, provenance: Iterable[Origin]
) -> None:
    """Write an index."""
    names = getattr(model, "feature_names_in_", None)
    main = snapshot.main
    about: dict[str, Any] = {
        "parameters": model.get_params(deep=False) | {"random_state": model.seed_},
        "facts": {name: getattr(model, name) for name in _FACTS},
        "feature_names": None if names is None else [str(name) for name in names],
        "source": main.settings(),
        "n_wanted": main.n_wanted,
        "sources": [origin.asdict() for origin in provenance],
    }
    parts = {"main": main.store.arrays(), "source": main.arrays()}
    if snapshot.tail is not None:
        parts["tail"] = snapshot.tail.store.arrays()
    arrays = {f"{part}.{name}": array for part in parts for name, array in parts[part].items()}
    arrays |= {"ids": snapshot.ids, "alive": snapshot.alive}
    if model.names_ is not None:
        encoded = [name.encode() for name in model.names_]
        arrays["names.ends"] = np.cumsum([len(name) for name in encoded], dtype=np.int64)
        arrays["names.text"] = np.frombuffer(b"".join(encoded), np.uint8)
    try:
        save_arrays(path, _KIND, _FILE_VERSION, arrays, about)
    except TypeError as error:
        raise ParameterError(f"a parameter cannot be held by a file ({error}).") from error


def read_index(path: PathLike, cls: type[Model], *, mmap: bool) -> tuple[Model, Snapshot]:
    """An estimator and its index from a file, after checks that its parts fit together."""
    arrays, about = load_arrays(path, _KIND, _FILE_VERSION, mmap=mmap)
    try:
        parameters = dict(about["parameters"])
        hashed_kernel(parameters["kernel"])
        require_count("n_neighbors", parameters["n_neighbors"])
        require_recall(parameters["recall"])
        model: Any = cls(**parameters)
        for name in _FACTS:
            setattr(model, name, about["facts"][name])
        if about["feature_names"] is not None:
            model.feature_names_in_ = np.array(about["feature_names"], dtype=object)
        model.provenance_ = read_provenance(about.get("sources"))
        model.names_ = _read_names(arrays)
        snapshot = _read_snapshot(model, about, arrays)
    except (ParameterError, KeyError, TypeError, ValueError, IndexError) as error:
        raise FileError(f"{path}: damaged or unknown ({error}); save the index again.") from error
    return model, snapshot


def _read_names(arrays: dict[str, Array]) -> list[str] | None:
    """What the rows are called, by their ids, if they have names."""
    if "names.ends" not in arrays:
        return None
    ends, text = arrays["names.ends"].tolist(), arrays["names.text"].tobytes()
    return [text[start:stop].decode() for start, stop in itertools.pairwise([0, *ends])]


def _read_snapshot(model: Any, about: dict[str, Any], arrays: dict[str, Array]) -> Snapshot:
    kernel, n_columns = model.kernel, int(model.n_features_in_)

    def part(prefix: str) -> dict[str, Array]:
        start = f"{prefix}."
        return {key[len(start) :]: array for key, array in arrays.items() if key.startswith(start)}

    store = _checked_store(restore(kernel, n_columns, part("main")))
    tail = None
    if part("tail"):
        tail = Exact(_checked_store(restore(kernel, n_columns, part("tail"))))
    method, n_wanted = METHODS[model.method_], int(about["n_wanted"])
    if method is not Exact:
        require_count("n_wanted", n_wanted)
    main = method.restored(store, n_wanted, about["source"], part("source"))
    n_rows = len(store) + (0 if tail is None else len(tail.store))
    ids, alive = arrays["ids"], arrays["alive"]
    require_fit(ids.shape == alive.shape == (n_rows,), "ids do not fit the rows")
    require_fit(ids.dtype == np.int64 and alive.dtype == np.uint8, "ids are of the wrong type")
    return Snapshot(main, tail, read_only(ids), read_only(alive))


def _checked_store(store: Store) -> Store:
    """The store, if no loop can leave its arrays."""
    n, ends = len(store), store.indptr
    require_fit(ends.shape == (n + 1,) and ends.dtype == np.int64, "row pointers do not fit")
    require_fit(ends[0] == 0 and bool((np.diff(ends) >= 0).all()), "row pointers decrease")
    require_fit(ends[-1] == len(store.columns) == len(store.values), "values do not fit")
    require_fit(store.columns.dtype in (np.uint16, np.int32), "columns are of the wrong type")
    known = store.values.dtype in (np.uint8, np.float32, np.float64)
    require_fit(known, "values are of no known type")
    require_fit(store.squares.dtype == np.float64, "sums of squares are of the wrong type")
    require_fit(bool(np.isfinite(store.squares).all()), "sums of squares are not finite")
    require_fit(store.vocabulary.dtype == np.int64, "the vocabulary is of the wrong type")
    wide = store.n_columns > NARROW
    require_fit(wide or len(store.vocabulary) == 0, "the vocabulary does not fit")
    if len(store.columns):
        least, most = int(store.columns.min()), int(store.columns.max())
        require_fit(least >= 0 and most < store.width, "a column is out of range")
    fits = store.bits.shape == (n, n_words(store.width)) and store.bits.dtype == np.uint64
    require_fit(fits, "bits do not fit")
    return store
