"""Linear models that learn from signatures as they are.

A row of k (code, weight) pairs stands for a row of k 2^b columns with k nonzeros
(`Signatures.to_csr`). The models here find what LIBLINEAR would find there, without
ever expanding a row.
"""

from .._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
