"""Near-duplicates as they are found, and as files: pairs, groups, and the rows to keep."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..._core.arguments import Array
from ..._core.escaping import fields
from ..._core.validation import read_only
from ..._loops.search import duplicates as loops
from ...errors import DataError, ParameterError
from ...io.atomic import Target, open_target

_LINES = 1 << 16
_PAIRS = 1 << 24  # that are connected at a time


@dataclass(frozen=True)
class NearDuplicates:
    """Pairs of rows above a threshold: of one set of rows, or of those of a file near another's.

    Attributes
    ----------
    pairs : ndarray of shape (n_pairs, 2)
        Ids, those of an index or else row numbers from 0; in each pair the row that came first is
        first. Of two files: row of the file, and row of the other one. Ascending; mapped into
        memory from a file where there are very many.
    similarities : ndarray of shape (n_pairs,)
        Exact kernel values.
    expected_missed : float
        Largest expected share of pairs not found: that at the threshold itself.
    rows : int
        Rows that were searched.
    copies : int
        Rows equal to an earlier one in every column and value.
    rows_against : int or None
        Rows of the other file, if there are two.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.io.write_rows("rows.npz", [[1.0, 2, 0], [1, 2, 0], [0, 0, 3]])
    >>> found = ck.files.near_duplicates(ck.files.open_reader("rows.npz"), 0.9)
    >>> found.pairs, found.rows, found.copies, found.redundant(), found.kept()
    (array([[0, 1]]), 3, 1, array([1]), array([0, 2]))
    """

    pairs: Array
    similarities: Array
    expected_missed: float
    rows: int
    copies: int
    rows_against: int | None = None

    @classmethod
    def of(
        cls, pairs: Array, values: Array, missed: float, n_rows: int, copies: int,
        boundary: int | None,
    ) -> "NearDuplicates":  # fmt: skip
        """The result of ascending pairs; with a boundary, of rows from there on with others."""
        if boundary is not None:
            pairs[:, 0] -= boundary
            n_rows -= boundary
        return cls(pairs, values, missed, n_rows, copies, boundary)

    def groups(self, scores: Mapping[int, float] | None = None) -> list[Array]:
        """Connected rows, as arrays of ids: keep the first of each to drop duplicates.

        That is the row of the highest score, or of the smallest id; the others ascend. Rows near
        those of another file are in no groups.
        """
        if self.rows_against is not None or not len(self.pairs):
            return []
        ids, heads = connected_rows(self.pairs)
        order = np.argsort(heads, kind="stable")
        groups = np.split(ids[order], np.flatnonzero(np.diff(heads[order])) + 1)
        return groups if scores is None else [_best_first(group, scores) for group in groups]

    def redundant(self, scores: Mapping[int, float] | None = None) -> Array:
        """Ids of the rows to drop: all but the first of each of the `groups`.

        Of two files, the rows near one of the other.
        """
        if self.rows_against is not None:
            return np.unique(self.pairs[:, 0])
        rest = [group[1:] for group in self.groups(scores)]
        return np.sort(np.concatenate(rest)) if rest else np.empty(0, np.int64)

    def kept(self, scores: Mapping[int, float] | None = None) -> Array:
        """The other row numbers: those to keep. For ids that are row numbers."""
        return np.setdiff1d(np.arange(self.rows), self.redundant(scores), assume_unique=True)

    def paired(self) -> Array:
        """Ids of all rows that are in a pair, ascending."""
        return _distinct_rows(self.pairs)

    def reduced_to(
        self, n_kept: int, scores: Mapping[int, float] | None = None
    ) -> tuple[Array, str]:
        """The rows to drop so that `n_kept` stay, ascending, and the rule in words.

        One of each group stays. Of more than `n_kept` those of the highest scores stay, or the
        first; of fewer, dropped rows come back, those that are least similar to any other first.
        """
        if n_kept > self.rows:
            raise ParameterError(
                f"reduce_to: got {n_kept}, but there are {self.rows} rows; give less."
            )
        dropped, kept = self.redundant(scores), self.kept(scores)
        rule = f"{len(kept):,} rows that are no near-duplicates of one another"
        if len(kept) > n_kept:
            if scores is not None:
                kept = kept[np.argsort([-scores[row] for row in kept.tolist()], kind="stable")]
            which = "the first" if scores is None else "the preferred"
            return np.union1d(dropped, kept[n_kept:]), f"{which} {n_kept:,} of {rule}"
        if n_back := n_kept - len(kept):
            rule += f", and the {n_back:,} least similar of the others"
            highest = np.zeros(self.rows)
            for side in self.pairs.T:
                np.maximum.at(highest, side, self.similarities)
            dropped = np.sort(dropped[np.argsort(highest[dropped], kind="stable")][n_back:])
        return dropped, rule


def connected_rows(pairs: Array) -> tuple[Array, Array]:
    """The rows of pairs (n_pairs, 2), ascending, and the place of the first of their component."""
    rows = _distinct_rows(pairs)
    heads = np.arange(len(rows))
    for portion in _portions(pairs):
        left, right = (read_only(np.searchsorted(rows, side), np.int64) for side in portion.T)
        loops.connect(left, right, heads)
    return rows, heads


def _distinct_rows(pairs: Array) -> Array:
    rows = np.empty(0, np.int64)
    for portion in _portions(pairs):
        rows = np.union1d(rows, portion)
    return rows


def _portions(pairs: Array) -> list[Array]:
    return [pairs[start : start + _PAIRS] for start in range(0, len(pairs), _PAIRS)]


def _best_first(group: Array, scores: Mapping[int, float]) -> Array:
    best = int(np.argmax([scores[row] for row in group.tolist()]))
    return np.concatenate([group[best : best + 1], np.delete(group, best)])


def too_many(name: str, most_pairs: int) -> DataError:
    """The error for more pairs than are allowed."""
    return DataError(
        f"{name}: more than {most_pairs:,} pairs of rows are alike; raise the threshold, "
        "list copies only once, or allow more pairs (most_pairs)."
    )


def write_pairs(
    result: NearDuplicates, target: Target,
    names: tuple[Mapping[int, str], Mapping[int, str]] | None = None,
) -> None:  # fmt: skip
    """A line `i`, `j`, `similarity` for each pair, with tabs between, after a line of names.

    Rows may have names, those of the first and those of the second column: then they follow, as
    `name_i` and `name_j`, escaped as by `predict`.

    Examples
    --------
    >>> from pathlib import Path
    >>> import corekernels as ck
    >>> found = ck.CoRENeighbors().fit([[1.0, 2], [1, 2], [0, 3]]).near_duplicates(0.9)
    >>> ck.files.write_pairs(found, "pairs.tsv")
    >>> print(Path("pairs.tsv").read_text().expandtabs(4), end="")
    i   j   similarity
    0   1   1.000000
    """
    with open_target(target) as file:
        file.write(b"i\tj\tsimilarity" + (b"" if names is None else b"\tname_i\tname_j") + b"\n")
        for start in range(0, len(result.pairs), _LINES):
            span = slice(start, start + _LINES)
            first, second = result.pairs[span].T.tolist()
            columns = fields(first), fields(second), result.similarities[span].tolist()
            lines = [f"{i}\t{j}\t{value:.6f}" for i, j, value in zip(*columns, strict=True)]
            if names is not None:
                named = [fields(map(names[0].__getitem__, first))]
                named.append(fields(map(names[1].__getitem__, second)))
                lines = ["\t".join(line) for line in zip(lines, *named, strict=True)]
            file.write("".join(f"{line}\n" for line in lines).encode())


def write_groups(
    result: NearDuplicates, target: Target, scores: Mapping[int, float] | None = None
) -> None:
    """A line `row`, `group` for each row that has near-duplicates, after a line of names.

    A group has the number of the row to keep, as `NearDuplicates.groups` says.

    Examples
    --------
    >>> import corekernels as ck
    >>> found = ck.CoRENeighbors().fit([[1.0, 2], [1, 2], [0, 3]]).near_duplicates(0.9)
    >>> ck.files.write_groups(found, "groups.tsv")
    >>> with open("groups.tsv") as file:
    ...     [line.split() for line in file]
    [['row', 'group'], ['0', '0'], ['1', '0']]
    """
    with open_target(target) as file:
        file.write(b"row\tgroup\n")
        for group in result.groups(scores):
            rows = fields(group.tolist())
            file.write("".join(f"{row}\t{rows[0]}\n" for row in rows).encode())
