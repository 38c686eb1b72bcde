"""Signatures as the learning loops take them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core.threads import row_blocks, run_blocks
from .._core.types import Array
from .._core.validation import read_only
from .._hashing.slots import largest_code, loop_slots
from .._loops.learning.packed import PackedRows, equal_rows, row_digests, row_scales
from ..errors import DataError, ParameterError
from ..recipe import MAX_BITS
from ..signatures import Signatures

ROWS_PER_TASK = 1024


@dataclass(frozen=True)
class Packed:
    """Arrays of signatures, as read-only views.

    Attributes
    ----------
    codes : ndarray of shape (n, k)
    weights : ndarray of shape (n, k), uint16, or None
        The bits of halves; None where all weights are 1. Where code and weight share an
        integer, `codes` and `weights` are the same array of slots.
    scales : ndarray of shape (n,)
        Factor that makes a row's weights unit length.
    lengths : ndarray of shape (n,)
    n_codes : int
        Codes there can be.
    """

    codes: Array
    weights: Array | None
    scales: npt.NDArray[np.float32]
    lengths: npt.NDArray[np.int64]
    n_codes: int

    def __len__(self) -> int:
        return len(self.codes)

    def rows(self) -> PackedRows:
        """The rows for a loop in one thread: with a buffer of its own."""
        buffer = None if self.weights is None else np.empty(self.codes.shape[1], np.float32)
        return PackedRows(self.codes, self.weights, self.scales, buffer)

    def digests(self, n_jobs: int | None) -> npt.NDArray[np.uint64]:
        """A hash of each row's contents: equal rows have equal ones."""
        out = np.empty(len(self), np.uint64)
        codes, weights = self._bits

        def work(part: tuple[int, int]) -> None:
            rows = slice(*part)
            some = None if weights is None else weights[rows]
            row_digests(codes[rows], some, self.lengths[rows], out[rows])

        run_blocks(work, row_blocks(0, len(self), ROWS_PER_TASK), n_jobs)
        return out

    def equal(
        self, rows: npt.NDArray[np.int64], others: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.bool_]:
        """Whether each of some rows has the same contents as the one at its place in `others`."""
        out = np.empty(len(rows), np.bool_)
        equal_rows(*self._bits, self.lengths, rows, others, out)
        return out

    def contents(self, row: int) -> tuple[bytes, bytes, bool]:
        """All that a row holds, as something that can be sorted."""
        codes, weights = self._bits
        found = b"" if weights is None else weights[row].tobytes()
        return codes[row].tobytes(), found, bool(self.lengths[row] > 0)

    def largest_code(self) -> int:
        """The largest of all codes."""
        return largest_code(self.codes)

    @property
    def _bits(self) -> tuple[Array, Array | None]:
        """All that the rows hold, as unsigned integers; slots once."""
        if self.codes.dtype.kind == "u":
            return self.codes, self.weights
        return self.codes.view(f"u{self.codes.itemsize}"), None


def require_signatures(S: Any) -> None:
    """Refuse anything else."""
    if not isinstance(S, Signatures):
        raise DataError(
            f"S: got {type(S).__name__}; pass Signatures from `CoREHasher.sketch`, "
            "or give raw rows to CoREClassifier or CoRERegressor."
        )


def pack(S: Signatures, n_jobs: int | None = None) -> Packed:
    """Views of the arrays of S, which may be memory-mapped; only the scales are new."""
    require_signatures(S)
    if S.recipe.n_bits is None:
        raise ParameterError(
            "n_bits: these signatures keep their locations whole, which would take a weight for "
            f"every location; choose n_bits from 1 to {MAX_BITS}."
        )
    S.require_codes()
    codes, weights = loop_slots(S.arrays())
    lengths = read_only(S.lengths, np.int64)
    scales = np.empty(len(codes), np.float32)

    def work(part: tuple[int, int]) -> None:
        rows = slice(*part)
        some = None if weights is None else weights[rows]
        row_scales(some, lengths[rows], codes.shape[1], scales[rows])

    run_blocks(work, row_blocks(0, len(codes), ROWS_PER_TASK), n_jobs)
    if not np.isfinite(scales).all():
        row = int(np.flatnonzero(~np.isfinite(scales))[0])
        raise DataError(f"S: row {row} holds a weight that is not finite; hash it again.")
    return Packed(codes, weights, read_only(scales), lengths, 1 << S.recipe.n_bits)
