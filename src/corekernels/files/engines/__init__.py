"""Engines that run the parts of a job: this process, a Dask cluster or a Spark cluster."""

from collections.abc import Callable
from typing import Any

from ..._core.arguments import require_choice
from ...errors import ParameterError
from .base import Engine, LocalEngine
from .dask import DaskEngine
from .spark import SparkEngine

__all__ = ["ENGINES", "DaskEngine", "Engine", "LocalEngine", "SparkEngine", "open_engine"]

ENGINES: dict[str, Callable[[Any, int | None], Engine]] = {
    "local": LocalEngine, "dask": DaskEngine, "spark": SparkEngine,
}  # fmt: skip


def open_engine(name: str, address: Any = None, workers: int | None = None) -> Engine:
    """An engine, to be used in a `with` block.

    Parameters
    ----------
    name : {"local", "dask", "spark"}
        "local" is this process.
    address : str, distributed.Client or pyspark.sql.SparkSession, optional
        Of a cluster that runs already, as "tcp://host:8786", "spark://host:7077" or "yarn"; or
        what is connected with one, and stays so. Without it, a cluster is started on this machine,
        and ended with the `with` block.
    workers : int, optional
        Tasks at a time on this machine; None means one per core.

    Examples
    --------
    >>> import corekernels as ck
    >>> with ck.files.open_engine("local", workers=1) as engine:
    ...     engine.run(pow, 2, [0, 1, 5])
    [1, 2, 32]
    """
    require_choice("engine", name, tuple(ENGINES))
    if address is not None and workers is not None:
        raise ParameterError("workers: is for a cluster on this machine; leave it or address out.")
    return ENGINES[name](address, workers)
