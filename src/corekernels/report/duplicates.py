"""Report on near-duplicates: counts, similarities, and examples."""

import difflib
from pathlib import Path

import numpy as np

from .._core.arguments import Array
from ..io.readers import RowReader
from ..neighbors import NearDuplicates
from .layout import Figure, Line, Panel, Report, Section, Table

_BINS = 20
_MOST_GROUPS = 10
_MOST_WORDS = 2000  # of a document that is compared word by word
_CONTEXT = 5  # words shown before and after those that differ
_START = 120  # characters shown of the first document of a group
_SHOWN_WORDS = 60  # of each document of a pair
_QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
_SIZES = ((2, 2), (3, 5), (6, 10), (11, 100), (101, None))


def duplicates_report(
    result: NearDuplicates, reader: RowReader, others: RowReader | None = None, *, threshold: float,
    kernel: str, progress: bool | None = None,
) -> Report:  # fmt: skip
    """A report on near-duplicates: numbers, similarities, the largest groups, typical pairs.

    Parameters
    ----------
    result : NearDuplicates
        From `files.near_duplicates`.
    reader, others : RowReader
        The file, and the one it was compared with. Of documents, words are shown.
    threshold, kernel
        As they were asked for.
    progress : bool, optional
        Whether to show a progress bar; None means where there is a terminal.

    Examples
    --------
    >>> import corekernels as ck
    >>> X = [[1.0, 2, 0], [1, 2, 0], [0, 0, 3]]
    >>> ck.io.write_rows("rows.npz", X)
    >>> reader = ck.files.open_reader("rows.npz")
    >>> result = ck.files.near_duplicates(reader, 0.9)
    >>> page = ck.report.duplicates_report(result, reader, threshold=0.9, kernel="core1")
    >>> [section.title for section in page.sections]
    ['How alike', 'Groups', 'Typical pairs']
    """
    groups = result.groups()
    typical = _typical(result)
    groups.sort(key=len, reverse=True)
    firsts = [int(group[0]) for group in groups[:_MOST_GROUPS]]
    left, right = result.pairs[typical].T
    rows = np.concatenate([left, firsts, right if others is None else []])
    shown = _Shown(reader, np.unique(rows).astype(np.int64), progress)
    shown_others = shown if others is None else _Shown(others, np.unique(right), progress)
    sections = [_similarities(result, threshold, kernel)]
    if groups:
        sections.append(_group_section(groups, shown))
    if len(typical):
        sections.append(_pair_section(result, typical, shown, shown_others))
    name = Path(reader.name).name
    if others is not None:
        name += f" against {Path(others.name).name}"
    return Report(f"Near-duplicates in {name}", _lead(result, groups, threshold, kernel), sections)


class _Shown:
    """Names and texts of some documents; rows that are no documents have numbers only."""

    def __init__(self, reader: RowReader, rows: Array, progress: bool | None) -> None:
        self._kind, self._names = reader.unit, reader.names(rows, progress)
        self.texts = reader.texts(rows, progress)

    def name(self, row: int) -> str:
        name = self._names.get(row)
        return f"{self._kind} {row:,}" + (f" ({_plain(name)})" if name else "")

    def start(self, row: int) -> str | None:
        text = " ".join(self.texts.get(row, "").split()[:12])
        return _plain(text if len(text) <= _START else f"{text[:_START]} …") or None


def _lead(result: NearDuplicates, groups: list[Array], threshold: float, kernel: str) -> list[str]:
    pairs = f"{len(result.pairs):,} pairs of a similarity ({kernel}) of at least {threshold:g}"
    missed = "No such pair was missed."
    if result.expected_missed:
        missed = f"At most {result.expected_missed:.2%} of such pairs are expected to be missed."
    if result.rows_against is not None:
        near = len(result.redundant())
        return [
            f"{near:,} of {result.rows:,} documents are near one of the {result.rows_against:,} "
            f"they were compared with: {pairs}. Without them {result.rows - near:,} stay.",
            missed,
        ]
    dropped = sum(len(group) - 1 for group in groups)
    return [
        f"{result.rows:,} documents hold {pairs}, in {len(groups):,} groups. {result.copies:,} are "
        f"copies of an earlier document in every n-gram. With one of each group "
        f"{result.rows - dropped:,} stay: {(result.rows - dropped) / max(1, result.rows):.1%}.",
        missed,
    ]


def _similarities(result: NearDuplicates, threshold: float, kernel: str) -> Section:
    edges = np.linspace(min(threshold, 1 - 1e-9), 1, _BINS + 1)
    counts = np.histogram(np.clip(result.similarities, edges[0], 1), edges)[0]
    line = Line("pairs", ((edges[1:] + edges[:-1]) / 2).tolist(), counts.astype(float).tolist())
    panel = Panel("Pairs by similarity", f"similarity ({kernel})", "pairs", [line])
    figure = Figure(
        "similarities", f"Pairs per step of {(edges[1] - edges[0]):.2g} in similarity.",
        "A curve of the number of pairs over their similarity.", [panel],
    )  # fmt: skip
    return Section("similarity", "How alike", [], [], [figure])


def _group_section(groups: list[Array], shown: _Shown) -> Section:
    sizes = np.array([len(group) for group in groups])
    rows = []
    for least, most in _SIZES:
        here = sizes[(sizes >= least) & (sizes <= (most or sizes.max()))]
        label = f"{least:,}" if least == most else f"{least:,} to {most:,}" if most else "more"
        rows.append([label, f"{len(here):,}", f"{here.sum():,}"])
    by_size = Table("Groups by their size.", ["documents", "groups", "documents in all"], rows)
    largest = [
        [shown.name(int(group[0])), f"{len(group):,}", shown.start(int(group[0]))]
        for group in groups[:_MOST_GROUPS]
    ]
    table = Table("The largest groups.", ["first", "documents", "begins with"], largest)
    return Section("groups", "Groups", [], [by_size, table])


def _pair_section(result: NearDuplicates, typical: Array, left: _Shown, right: _Shown) -> Section:
    """Pairs from the least to the most similar one, with the words that differ marked."""
    text = ["Pairs from the least to the most similar. Words that differ are marked `so`."]
    for place in typical.tolist():
        i, j = result.pairs[place].tolist()
        title = f"{left.name(i)} and {right.name(j)}: {result.similarities[place]:.3f}"
        text.append(f"{title[0].upper()}{title[1:]}.")
        if i in left.texts and j in right.texts:
            text += marked_differences(left.texts[i], right.texts[j])
    return Section("pairs", "Typical pairs", text)


def _typical(result: NearDuplicates) -> Array:
    """Places of pairs at quantiles of the similarity."""
    if not len(result.pairs):
        return np.empty(0, np.int64)
    order = np.argsort(result.similarities, kind="stable")
    places = [round(quantile * (len(order) - 1)) for quantile in _QUANTILES]
    return order[np.unique(places)]


def marked_differences(left: str, right: str) -> list[str]:
    """Two texts, of which words that differ are between backticks and long agreement is left out.

    >>> marked_differences("a rose is a rose", "a rose is a thorn")
    ['a rose is a `rose`', 'a rose is a `thorn`']
    """
    words = [_plain(text).split()[:_MOST_WORDS] for text in (left, right)]
    matcher = difflib.SequenceMatcher(a=words[0], b=words[1], autojunk=False)
    sides: tuple[list[str], list[str]] = ([], [])
    blocks = matcher.get_opcodes()
    for number, (kind, *places) in enumerate(blocks):
        ranges = (places[0], places[1]), (places[2], places[3])
        for side, text, (start, stop) in zip(sides, words, ranges, strict=True):
            run = text[start:stop]
            if kind != "equal":
                side += [f"`{' '.join(run)}`"] if run else []
                continue
            before = 0 if number == 0 else _CONTEXT
            after = 0 if number == len(blocks) - 1 else _CONTEXT
            if len(run) > before + after + 1 and len(blocks) > 1:
                run = [*run[:before], "…", *(run[-after:] if after else [])]
            side += run
    return [_cut(side) for side in sides]


def _cut(words: list[str]) -> str:
    return " ".join(words[:_SHOWN_WORDS]) + (" …" if len(words) > _SHOWN_WORDS else "")


def _plain(text: str) -> str:
    """Text without backticks, which mark words here."""
    return " ".join(text.replace("`", "'").split())
