"""Near-duplicates as they are found, and as files: pairs, groups, and the rows that are kept."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..._core.arguments import Array, PathLike
from ..._core.escaping import fields
from ...errors import ParameterError
from ...io.atomic import Target, open_target
from ...io.readers import RowReader
from .components import connected_rows

_LINES = 1 << 16


@dataclass(frozen=True)
class NearDuplicates:
    """Pairs of rows above a threshold. Ids are those of an index, else row numbers from 0.

    Attributes
    ----------
    pairs : ndarray of shape (n_pairs, 2)
        Ids; in each pair the row that came first is first.
    similarities : ndarray of shape (n_pairs,)
        Exact kernel values.
    expected_missed : float
        Largest expected share of pairs not found: that at the threshold itself.
    rows : int
        Rows that were searched.
    copies : int
        Rows equal to an earlier one in every column and value.
    forest : ndarray of shape (n, 2) or None
        Fewer pairs that connect the same rows, where `pairs` and `similarities` are too many for
        memory and lie in files that are mapped into it.

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
    forest: Array | None = None

    def groups(self, scores: Mapping[int, float] | None = None) -> list[Array]:
        """Connected rows, as arrays of ids: keep the first of each to drop duplicates.

        That is the row of the highest score, or of the smallest id; the others ascend.
        """
        links = self._links()
        if not len(links):
            return []
        ids, heads = connected_rows(links)
        order = np.argsort(heads, kind="stable")
        groups = np.split(ids[order], np.flatnonzero(np.diff(heads[order])) + 1)
        return groups if scores is None else [_best_first(group, scores) for group in groups]

    def redundant(self, scores: Mapping[int, float] | None = None) -> Array:
        """Ids of all rows but the first of each of the `groups`: those to drop."""
        rest = [group[1:] for group in self.groups(scores)]
        return np.sort(np.concatenate(rest)) if rest else np.empty(0, np.int64)

    def kept(self, scores: Mapping[int, float] | None = None) -> Array:
        """The other row numbers: those to keep. For ids that are row numbers."""
        return np.setdiff1d(np.arange(self.rows), self.redundant(scores), assume_unique=True)

    def paired(self) -> Array:
        """Ids of all rows that are in a pair, ascending."""
        return np.unique(self._links())

    def least_similar(self, rows: Array) -> Array:
        """Some of the rows that are in pairs, those that no row is very similar to first."""
        highest = np.zeros(self.rows)
        for side in self.pairs.T:
            np.maximum.at(highest, side, self.similarities)
        return rows[np.argsort(highest[rows], kind="stable")]

    def _links(self) -> Array:
        """Pairs that connect all rows that are connected."""
        return self.pairs if self.forest is None else self.forest


@dataclass(frozen=True)
class Reduction:
    """Which rows stay of a file that is to have so many.

    Attributes
    ----------
    dropped : ndarray
        Numbers of the rows that go, ascending.
    rule : str
        Which rows stay, in words.
    """

    dropped: Array
    rule: str


def reduce_rows(
    found: NearDuplicates, n_kept: int, scores: Mapping[int, float] | None = None
) -> Reduction:
    """Which rows to keep so that there are `n_kept`.

    One of each group stays. Of more than `n_kept` those of the highest scores stay, or the first;
    of fewer, dropped rows come back, those that are least similar to any other first.
    """
    if n_kept > found.rows:
        raise ParameterError(
            f"reduce_to: got {n_kept}, but there are {found.rows} rows; give less."
        )
    dropped, kept = found.redundant(scores), found.kept(scores)
    rule = f"{len(kept):,} rows that are no near-duplicates of one another"
    if len(kept) > n_kept:
        by_score = kept
        if scores is not None:
            by_score = kept[np.argsort([-scores[row] for row in kept.tolist()], kind="stable")]
        dropped = np.union1d(dropped, by_score[n_kept:])
        which = "the first" if scores is None else "the preferred"
        return Reduction(dropped, f"{which} {n_kept:,} of {rule}")
    n_back = n_kept - len(kept)
    back = found.least_similar(dropped)[:n_back]
    if n_back:
        rule += f", and the {n_back:,} least similar of the others"
    return Reduction(np.setdiff1d(dropped, back), rule)


@dataclass(frozen=True)
class FileMatches:
    """Rows of a file that are near rows of another one.

    Attributes
    ----------
    pairs : ndarray of shape (n_pairs, 2)
        Row of the file, and row of the other one, from 0; ascending.
    similarities : ndarray of shape (n_pairs,)
        Exact kernel values.
    expected_missed : float
        Largest expected share of pairs not found: that at the threshold itself.
    rows, rows_against : int
        Rows of the file, and of the other one.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.io.write_rows("train.npz", [[1.0, 2, 0], [0, 0, 3]])
    >>> ck.io.write_rows("test.npz", [[1.0, 2, 0]])
    >>> train, test = map(ck.files.open_reader, ("train.npz", "test.npz"))
    >>> found = ck.files.near_matches(train, test, 0.9)
    >>> found.pairs, found.redundant()
    (array([[0, 0]]), array([0]))
    """

    pairs: Array
    similarities: Array
    expected_missed: float
    rows: int
    rows_against: int

    def redundant(self) -> Array:
        """Rows of the file that are near one of the other: those to drop."""
        return np.unique(self.pairs[:, 0])


def _best_first(group: Array, scores: Mapping[int, float]) -> Array:
    best = int(np.argmax([scores[row] for row in group.tolist()]))
    return np.concatenate([group[best : best + 1], np.delete(group, best)])


def write_pairs(
    found: NearDuplicates | FileMatches, target: Target,
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
        for start in range(0, len(found.pairs), _LINES):
            some = slice(start, start + _LINES)
            first, second = found.pairs[some].T.tolist()
            columns = fields(first), fields(second), found.similarities[some].tolist()
            lines = [f"{i}\t{j}\t{value:.6f}" for i, j, value in zip(*columns, strict=True)]
            if names is not None:
                named = [fields(map(names[0].__getitem__, first))]
                named.append(fields(map(names[1].__getitem__, second)))
                lines = ["\t".join(line) for line in zip(lines, *named, strict=True)]
            file.write("".join(f"{line}\n" for line in lines).encode())


def write_groups(
    found: NearDuplicates, target: Target, scores: Mapping[int, float] | None = None
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
        for group in found.groups(scores):
            rows = fields(group.tolist())
            file.write("".join(f"{row}\t{rows[0]}\n" for row in rows).encode())


def write_kept(
    reader: RowReader,
    dropped: Array,
    target: PathLike,
    format: str | None = None,  # noqa: A002
    *,
    progress: bool | None = None,
) -> int:
    """Write the rows and labels of a reader but for some, in ascending order; number of rows.

    Rows are written in a format as of `io.write_rows`, documents in that which they came in.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.io.write_rows("rows.npz", [[1.0, 2, 0], [1, 2, 0], [0, 0, 3]])
    >>> reader = ck.files.open_reader("rows.npz")
    >>> dropped = ck.files.near_duplicates(reader, 0.9).redundant()
    >>> ck.files.write_kept(reader, dropped, "clean.npz")
    2
    """
    return reader.write_without(target, dropped, format, progress)
