"""Engines that run the parts of a job: this process, a Dask cluster or a Spark cluster."""

from collections.abc import Callable

from ..._core.arguments import require_choice
from ...errors import ParameterError
from .base import Engine, LocalEngine
from .dask import DaskEngine
from .spark import SparkEngine

__all__ = ["ENGINES", "DaskEngine", "Engine", "LocalEngine", "SparkEngine", "open_engine"]

_CLUSTERS: dict[str, Callable[..., Engine]] = {"dask": DaskEngine, "spark": SparkEngine}
ENGINES = ("local", *_CLUSTERS)


def open_engine(name: str, address: str | None = None, workers: int | None = None) -> Engine:
    """An engine, to be used in a `with` block.

    Parameters
    ----------
    name : {"local", "dask", "spark"}
        "local" is this process.
    address : str, optional
        Of a cluster that runs already. Without it, one is started on this machine, and ended
        with the `with` block.
    workers : int, optional
        Tasks at a time on this machine; None means one per core.

    Examples
    --------
    >>> import corekernels as ck
    >>> with ck.files.open_engine("local", workers=1) as engine:
    ...     engine.run(pow, 2, [0, 1, 5])
    [1, 2, 32]
    """
    require_choice("engine", name, ENGINES)
    if address is not None and workers is not None:
        raise ParameterError("workers: is for a cluster on this machine; leave it or address out.")
    if name == "local":
        if address is not None:
            raise ParameterError("address: is of a cluster, which engine='local' is not.")
        return LocalEngine(workers)
    return _CLUSTERS[name](address=address, workers=workers)
