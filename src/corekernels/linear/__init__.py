"""Linear models that learn from signatures as they are.

A row of k (code, weight) pairs stands for a row of k 2^b columns with k nonzeros
(`Signatures.to_csr`). The models here find what LIBLINEAR would find there, without
ever expanding a row.
"""

from .classifier import HashedLinearClassifier
from .losses import Loss
from .path import CPath, c_path
from .regressor import HashedLinearRegressor

__all__ = ["CPath", "HashedLinearClassifier", "HashedLinearRegressor", "Loss", "c_path"]
