"""Engines that run the parts of a job: this process, a Dask cluster or a Spark cluster."""

from .base import ENGINES, Engine, LocalEngine, open_engine

__all__ = ["ENGINES", "Engine", "LocalEngine", "open_engine"]
