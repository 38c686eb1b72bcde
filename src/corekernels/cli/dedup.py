"""The command that finds near-duplicates: dedup."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from typer import Argument, Option

from .. import files, io, report
from .._core.arguments import require_count
from ..documents.opening import FIRST, preference_scores
from ..errors import ParameterError
from ..files.dedup import duplicates_default
from ..files.sources import ROWS_PER_PART, PartPlan, reader_of
from ..io.atomic import require_target
from ..io.job_folder import JobFolder, unfinished_folder
from ..io.readers import RowReader, require_rows
from ..io.streams import display_name, is_stream, require_file
from ..kernel_table import DUPLICATES_KERNELS
from ..neighbors.duplicates.result import NearDuplicates
from ..recipe import DEFAULT_KERNEL
from . import options
from .app import command
from .printing import STANDARD_OUTPUT, to_write


@command("corekernels dedup train.svm pairs.tsv --threshold 0.8 --keep unique.svm")
def dedup(
    source: Annotated[
        str, Argument(metavar="IN", help="File of rows; no pipe, since --keep reads it again.")
    ],
    target: Annotated[
        str, Argument(metavar="OUT", help='Lines "i, j, similarity" with tabs; "-" prints them.')
    ],
    reading: options.Reading,
    output: options.Output,
    threshold: Annotated[float, Option(help="Least similarity of a pair.")] = 0.8,
    kernel: Annotated[
        str | None,
        Option(
            help=f"{options.one_of(DUPLICATES_KERNELS)}: what similar means. Containment is the "
            "share of a document's n-grams that a longer one has too.  [default: resemblance for "
            f"documents, {DEFAULT_KERNEL} for rows of numbers]"
        ),
    ] = None,
    gamma: options.Gamma = None,
    groups: Annotated[
        str | None, Option(metavar="OUT2", help='Write "row, group" too; a group is its first row.')
    ] = None,
    keep: Annotated[
        str | None,
        Option(
            metavar="ROWS",
            help="Write IN without all but one row of each group; documents in their own format.",
        ),
    ] = None,
    prefer: Annotated[
        str,
        Option(
            metavar="WHICH",
            help="Document of a group that stays: first, longest, or that with the largest number "
            "in a column.",
        ),
    ] = FIRST,
    reduce_to: Annotated[
        int | None,
        Option(
            help="Rows that --keep is to have. Of more, those preferred stay, or the first; of "
            "fewer, those least similar to any other come back."
        ),
    ] = None,
    against: Annotated[
        str | None,
        Option(metavar="IN2", help="Find rows of IN near a row of IN2; --keep leaves them out."),
    ] = None,
    page: Annotated[
        Path | None,
        Option(
            "--page", "--report", metavar="PAGE.html", help="Write a page about what was result."
        ),
    ] = None,
    copies_once: Annotated[
        bool, Option("--copies-once", help="Pair a copy with the first row it equals only.")
    ] = False,
    resume: Annotated[bool, Option("--resume", help="Go on after a killed run.")] = False,
    working_memory: Annotated[
        float, Option(help="Megabytes of rows to hold, per task of a cluster.")
    ] = 1024.0,
    most_pairs: Annotated[int, Option(help="Stop if more pairs are alike.")] = 50_000_000,
    seed: Annotated[int, Option(help="Seed of the hash tables.")] = 0,
    *,
    cluster: options.Cluster,
    n_jobs: options.Jobs = None,
) -> None:
    """Find all pairs of near-duplicate rows of IN, which need not fit in memory.

    Documents are compared as sets of 3-grams of words, unless --ngrams and --weights say otherwise.

    A run that is killed leaves what it has done in a hidden folder beside OUT: the same command
    with --resume goes on from there, and without it begins anew.
    """
    if cluster:
        options.require_file_target(target)
    if prefer != FIRST and not reading.text:
        raise ParameterError("--prefer: is for documents; name the column of text (--text).")
    _require_targets(source, target, groups, keep, page, reading)
    parts = None
    if target != STANDARD_OUTPUT:
        parts = unfinished_folder(target)
        output.note_unfinished(target, resume)
    elif resume:
        raise ParameterError("--resume: is for a file of pairs; give its name as OUT.")
    if against is not None:
        _require_alone(against, groups, prefer, copies_once, reduce_to)
    if reduce_to is not None and keep is None:
        raise ParameterError("--reduce-to: says how many rows to keep; name their file by --keep.")
    kernel = duplicates_default(bool(reading.text)) if kernel is None else kernel
    if reading.text and reading.frequencies is None:
        reading = replace(
            reading, ngrams=reading.ngrams or "3", weights=reading.weights or "binary"
        )
    with cluster.started() as engine:
        data, reader = _opened(engine, source, reading, output, n_jobs, keep is not None)
        other_data, others = None, None
        if against is not None:
            other_data, others = _opened(
                engine, against, reading, output, n_jobs, False, reader.provenance
            )
        result = files.near_duplicates(
            data, threshold, kernel, against=other_data, all_pairs=not copies_once,
            most_pairs=most_pairs, working_memory=working_memory, seed=seed, gamma=gamma,
            parts=parts, resume=resume, engine=engine, progress=output.progress, n_jobs=n_jobs,
        )  # fmt: skip
    rows = result.paired() if reduce_to is None else np.arange(result.rows)
    scores = None if prefer == FIRST else preference_scores(reader, prefer, rows, output.progress)
    about = _about(result)
    if reduce_to is None:
        dropped = result.redundant(scores)
    else:
        dropped, about["rule"] = result.reduced_to(require_count("reduce_to", reduce_to), scores)
        about["rows_kept"] = result.rows - len(dropped)
    if groups is not None:
        files.write_groups(result, to_write(groups), scores)
    files.write_pairs(result, to_write(target), _names(result, reader, others, output))
    if keep is not None:
        reader.write_without(keep, dropped, progress=output.progress)
    if page is not None:
        about_pairs = report.duplicates_report(
            result, reader, others, threshold=threshold, kernel=kernel, progress=output.progress
        )
        report.write_page(about_pairs, page)
    if parts is not None:
        JobFolder(parts).discard()
    output.show({"target": target, **about}, reader, target, groups, keep)


def _opened(
    engine: files.Engine | None, path: str, reading: options.Reading, output: options.Output,
    n_jobs: int | None, labels: bool, like: Sequence[io.Origin] = (),
) -> tuple[RowReader | PartPlan, RowReader]:  # fmt: skip
    """Rows to search, for an engine the plan of their parts, and a reader of them."""
    if engine is None:
        require_file(display_name(path), is_stream(path))
        reader = reading.open_rows(path, n_jobs=n_jobs, labels=labels, like=like)
        return reader, reader
    plan = reading.open(path, engine, output, part_rows=ROWS_PER_PART, labels=labels, like=like)
    return plan, require_rows(reader_of(plan, n_jobs))


def _require_alone(
    against: str, groups: str | None, prefer: str, copies_once: bool, reduce_to: int | None
) -> None:
    """Refuse options that make no sense beside --against."""
    require_file(display_name(against), is_stream(against))
    if groups is not None or prefer != FIRST or copies_once or reduce_to is not None:
        raise ParameterError(
            "--against: finds no groups within IN; leave out --groups, --prefer, --copies-once, "
            "--reduce-to."
        )


def _names(
    result: NearDuplicates, reader: RowReader, others: RowReader | None, output: options.Output
) -> tuple[dict[int, str], dict[int, str]] | None:
    """What the rows of pairs are called, if they have names."""
    if not reader.has_names:
        return None
    if others is None:
        names = reader.names(result.paired(), output.progress)
        return names, names
    sides = zip((reader, others), result.pairs.T, strict=True)
    left, right = (side.names(np.unique(rows), output.progress) for side, rows in sides)
    return left, right


def _require_targets(
    source: str, target: str, groups: str | None, keep: str | None, page: Path | None,
    reading: options.Reading,
) -> None:  # fmt: skip
    """Refuse files that cannot be written, before long work."""
    options.require_page(page)
    as_text = None if page is None else str(page)
    names = [name for name in (target, groups, keep, as_text) if name is not None]
    if names.count(STANDARD_OUTPUT) > 1:
        raise ParameterError("-: is named for two outputs; give each its own.")
    if keep is not None and not reading.text:
        io.RowWriter(keep)  # refuses a name that tells no format
    written = [name for name in names if name != STANDARD_OUTPUT]
    for place, name in enumerate(written):
        require_target(name, source, *written[:place])


def _about(result: NearDuplicates) -> dict[str, Any]:
    """Numbers for the terminal."""
    near = len(result.redundant())
    about = {
        "rows": result.rows, "rows_against": result.rows_against, "copies": result.copies,
        "pairs": len(result.pairs), "groups": len(result.groups()), "rows_near": near,
        "rows_kept": result.rows - near, "expected_missed": result.expected_missed,
    }  # fmt: skip
    left_out = (
        ("rows_against", "rows_near") if result.rows_against is None else ("copies", "groups")
    )
    return {name: value for name, value in about.items() if name not in left_out}
