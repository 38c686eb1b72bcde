"""The parameters of an index, for the estimators that make one."""

from typing import Any

from .._core.estimator import RowsEstimator
from ..recipe import DEFAULT_KERNEL
from .tuning import AUTO


class IndexEstimator(RowsEstimator):
    """An estimator with the parameters of an index; `CoRENeighbors` says what they mean."""

    def __init__(
        self,
        kernel: str = DEFAULT_KERNEL,
        n_neighbors: int = 10,
        *,
        method: str = AUTO,
        recall: float = 0.95,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.method = method
        self.recall = recall
        self.n_jobs = n_jobs
        self.random_state = random_state
