"""Near-duplicates of a corpus on many machines: the jobs, as a program calls them."""

from typing import Any

from .._core.arguments import PathLike
from ..files.engines.base import Engine
from ..files.plan import Plan
from ..neighbors.duplicates.result import FileDuplicates, FileMatches
from ..recipe import DEFAULT_KERNEL
from .candidates import LARGEST_BUCKET
from .duplicate_search import DRIVER_PAIRS, SearchOptions, find_similar_rows


def duplicates_by_parts(
    engine: Engine, plan: Plan, scratch: PathLike, threshold: float = 0.8,
    kernel: str = DEFAULT_KERNEL, *, all_pairs: bool = True, most_pairs: int = 50_000_000,
    working_memory: float = 1024.0, seed: int = 0, gamma: float | None = None,
    largest_bucket: int = LARGEST_BUCKET, driver_pairs: int = DRIVER_PAIRS, resume: bool = False,
    progress: bool | None = None,
) -> FileDuplicates:  # fmt: skip
    """Pairs of rows of all parts with K >= threshold, as `files.near_duplicates` by hash tables.

    Rows are numbered through all parts. The folder takes 12 to 16 bytes per nonzero, 544 bytes
    per row and 32 bytes per candidate; the engine shuffles 24 bytes per row and 1,024 bytes per
    row that is no copy.

    Parameters
    ----------
    engine : Engine
    plan : Plan
        From `plan_parts`.
    scratch : path
        A folder, made for this job, which every worker must reach. It keeps what was done in
        case the job fails or is killed; remove it when the result is safe.
    threshold, kernel, all_pairs, most_pairs, seed, gamma
        As for `files.near_duplicates`; not "containment".
    working_memory : float
        Megabytes of rows that a task holds while it compares them.
    largest_bucket : int
        Rows with one key that are all compared with each other. If more have it, they are
        compared with the first 16 of them only.
    driver_pairs : int
        Pairs that this process holds, at 100 bytes each. If more are found, tasks sort them into
        files, which become one that is mapped into memory, and merge spanning forests of them,
        from which groups follow.
    resume : bool
        Go on with what an unfinished run of the same job left in `scratch`; parts whose files
        have changed are read again. Without it, leftovers are cleared first.
    progress : bool, optional
        Whether to show a progress bar; None means where there is a terminal.

    Examples
    --------
    >>> import corekernels as ck
    >>> from corekernels import distributed
    >>> ck.io.write_rows("rows.npz", [[1.0, 2, 0], [1, 2, 0], [0, 0, 3]])
    >>> with ck.files.LocalEngine() as engine:
    ...     plan = ck.files.plan_parts(engine, "rows.npz")
    ...     found = distributed.duplicates_by_parts(engine, plan, "scratch", 0.9)
    >>> found.pairs, found.rows
    (array([[0, 1]]), 3)
    """
    options = SearchOptions(
        threshold, kernel, all_pairs, most_pairs, working_memory, seed, gamma, largest_bucket,
        driver_pairs,
    )  # fmt: skip
    found = find_similar_rows(engine, [plan], scratch, options, resume, progress)
    assert isinstance(found, FileDuplicates)
    return found


def matches_by_parts(
    engine: Engine, plan: Plan, against: Plan, scratch: PathLike, threshold: float = 0.8,
    kernel: str = DEFAULT_KERNEL, *, resume: bool = False, progress: bool | None = None,
    **options: Any,
) -> FileMatches:  # fmt: skip
    """Rows of all parts that are near rows of other parts, as `files.near_matches`.

    Parameters
    ----------
    engine, scratch, threshold, kernel, resume, progress
        As for `duplicates_by_parts`.
    plan, against : Plan
        From `plan_parts`.
    **options
        `most_pairs`, `working_memory`, `seed`, `gamma`, `largest_bucket` and `driver_pairs` of
        `duplicates_by_parts`.

    Examples
    --------
    >>> import corekernels as ck
    >>> from corekernels import distributed
    >>> ck.io.write_rows("train.npz", [[1.0, 2, 0], [0, 0, 3]])
    >>> ck.io.write_rows("test.npz", [[1.0, 2, 0]])
    >>> with ck.files.LocalEngine() as engine:
    ...     train = ck.files.plan_parts(engine, "train.npz")
    ...     test = ck.files.plan_parts(engine, "test.npz")
    ...     found = distributed.matches_by_parts(engine, train, test, "scratch", 0.9)
    >>> found.pairs
    array([[0, 0]])
    """
    chosen = SearchOptions(threshold, kernel, **options)
    found = find_similar_rows(engine, [against, plan], scratch, chosen, resume, progress)
    assert isinstance(found, FileMatches)
    return found
