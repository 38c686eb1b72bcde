"""Jobs on many machines: parts of the data, tasks on one part each, and engines that run them.

`plan_parts` cuts files into parts; `open_engine` is Dask, Spark or this process; the jobs run a
task on each part and put the results together. Results are those of one machine.
"""

from .._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
