"""The command that compiles all loops beforehand: warmup."""

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import corekernels

from .. import files, io, kernels
from .._core.progress import progress_bar
from .._hashing import SCHEMES
from ..hasher import CoREHasher
from ..io.readers import require_rows
from ..kernel_table import HASHED_KERNELS
from ..linear.classifier import HashedLinearClassifier
from ..linear.losses import loss_names
from ..linear.path import c_path
from ..linear.regressor import HashedLinearRegressor
from ..neighbors import CoRENeighbors
from ..neighbors.candidates import METHODS
from ..recipe import MAX_BITS, Recipe
from .app import command
from .options import Output
from .printing import show

_ONE_BYTE: dict[str, Any] = {"n_bits": 4, "weight_bits": 4}  # code and weight of a slot in one byte
_ROWS = 2500  # enough for methods other than exact search
_NARROW, _WIDE = 200, 100_000  # columns: their tables differ


@command("corekernels warmup")
def warmup(output: Output) -> None:
    """Compile all loops for this machine, once, so that no later command has to."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of search methods that find too little in random rows
        jobs = list(_jobs(Path(folder)))
        with progress_bar(len(jobs), "compiling", "jobs", output.progress) as bar:
            for job in jobs:
                job()
                bar.update(1)
    about = {"corekernels": corekernels.__version__, "seconds": time.perf_counter() - start}
    show(about, output.as_json, output.quiet)


def _jobs(folder: Path) -> Iterator[Callable[[], Any]]:
    """Small examples of everything that runs compiled loops.

    Loops are compiled per type of array; kernels are numbers to them, so that one stands for all
    where only loops with the same arrays differ.
    """
    rng = np.random.default_rng(0)
    for n_columns in (_NARROW, _WIDE):
        for dtype in (np.float32, np.float64):
            X = sparse.random_array(
                (_ROWS, n_columns), density=20 / n_columns, format="csr", dtype=dtype, rng=rng
            )
            X.data = np.round(X.data, 3)
            few = X[:300]
            yield partial(kernels.core1, few)
            yield partial(kernels.resemblance, few, few[:20], gamma=1.0)
            for name, scheme in product(HASHED_KERNELS, SCHEMES):
                yield partial(_of_signatures, few, name, scheme)
            for method in METHODS:
                yield partial(_of_search, X, method)
        yield partial(_of_files, X, folder)
    if find_spec("pyarrow") is not None:
        yield partial(_of_documents, folder)
    for name in HASHED_KERNELS:
        yield partial(_of_learning, few, name)
    counts = rng.poisson(0.2, (_ROWS, _NARROW))  # which an index keeps as bytes
    for method in METHODS:
        yield partial(_of_search, counts.astype(np.float32), method)
    yield partial(kernels.core1, counts)


def _of_signatures(X: Any, kernel: str, scheme: str) -> None:
    S = CoREHasher(kernel, 64, scheme=scheme, random_state=0).fit(X).sketch(X)
    S.estimate(S[:20])
    S.estimate_pairs([0, 1], [2, 3])
    if S.recipe.entry.rounded_weights is not None:
        S = CoREHasher(kernel, 64, **_ONE_BYTE, scheme=scheme, random_state=0).fit(X).sketch(X)
        S.estimate(S[:20])


def _of_learning(X: Any, kernel: str) -> None:
    y = np.arange(X.shape[0]) % 10
    two_bytes: dict[str, Any] = {"n_bits": MAX_BITS - 4}
    one_byte = {} if HASHED_KERNELS[kernel].rounded_weights is None else _ONE_BYTE
    for bits in ({}, two_bytes, one_byte):
        S = CoREHasher(kernel, 64, **bits, random_state=0).fit(X).sketch(X)
        for loss in loss_names("classes"):
            model = HashedLinearClassifier(loss, random_state=0, max_iter=5)
            model.fit(S, y).predict(S)
            model.fit(S, y % 2).partial_fit(S, y % 2).predict(S)
        HashedLinearRegressor(random_state=0, max_iter=5).fit(S, y).predict(S)
        c_path(S, y % 2, [0.1, 1.0], cv=3, progress=False)


def _of_search(X: Any, method: str) -> None:
    index = CoRENeighbors(n_neighbors=3, method=method, recall=0.5, random_state=0).fit(X)
    index.add(X[:5])
    index.kneighbors(X[:5])
    index.remove(list(range(900))).kneighbors(X[:5])
    index.radius_neighbors(X[:5], 0.1)


def _of_documents(folder: Path) -> None:
    """Text of words and characters, and near-duplicates of documents."""
    source = folder / "documents.jsonl"
    lines = [f'{{"text": "document {n % 700} says {n % 90} \\u00e9\\n"}}\n' for n in range(5000)]
    source.write_text("".join(lines), encoding="utf-8")
    for unit, kernel in (("words", "resemblance"), ("characters", "containment")):
        reader = require_rows(files.open_reader(source, text="text", shingles={"unit": unit}))
        options: dict[str, Any] = {"all_pairs": False, "working_memory": 1.0, "progress": False}
        files.near_duplicates(reader, 0.9, kernel, **options)


def _of_files(X: Any, folder: Path) -> None:
    """Text and the other formats, and jobs on files."""
    source, y = folder / "rows.svm", np.arange(X.shape[0]) % 3
    io.write_rows(source, X, y)
    reader = require_rows(files.open_reader(source, n_columns=X.shape[1]))
    recipe = Recipe(n_columns=reader.n_columns, n_hashes=64)
    files.hash_to_file(reader, folder / "rows.sig", recipe, progress=False)
    model = files.train(reader, folder / "model.ck", recipe, progress=False, max_iter=5)
    files.predict(model, reader, folder / "labels.txt", progress=False)
    files.survey(reader, progress=False)
    files.near_duplicates(reader, 0.9, progress=False)
    files.near_duplicates(reader, 0.9, working_memory=1.0, progress=False)
