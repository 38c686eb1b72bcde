"""Arguments and options that several commands share; groups of options are dataclasses."""

import contextlib
import shlex
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

import corekernels as ck

from .. import documents, files
from .._core.arguments import PathLike
from .._hashing import SCHEMES
from ..errors import ParameterError
from ..files.engines import ENGINES
from ..files.readers import SignatureReader, recipe_for
from ..files.sources import ROWS_PER_PART, reader_of
from ..io.atomic import require_target
from ..io.formats import format_names
from ..io.job_folder import describe_unfinished
from ..io.readers import RowReader, require_rows
from ..io.streams import MAX_RECORD_BYTES
from ..kernel_table import HASHED_KERNELS, KERNELS
from ..recipe import MAX_BITS, WEIGHT_BITS, Recipe
from ..text.settings import BY_RARITY, UNITS, WEIGHTS, TextSettings
from .printing import STANDARD_OUTPUT, say, show

if TYPE_CHECKING:
    from ..files.readers import AnyReader
    from ..files.sources import Source
    from ..models import Model
    from ..neighbors import CoRENeighbors


def one_of(names: Iterable[str]) -> str:
    """Names as a sentence lists them: "a, b or c"."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def _unless_given(what: str, default: object) -> Any:
    """An option that is None if not given: what was made before has settings of its own."""
    return Option(help=f"{what}.  [default: {default}]")


Rows = Annotated[str, Argument(metavar="IN", help='File of rows, or "-".')]
RowsOrSignatures = Annotated[
    str, Argument(metavar="IN", help='File of rows, "-", signature file or shard folder.')
]
Resume = Annotated[
    bool, Option("--resume", help="Go on with what a killed run of the same job has left.")
]
Jobs = Annotated[int | None, Option(help="Threads; all cores unless given.")]
KernelName = Annotated[str, Option(help=f"{one_of(HASHED_KERNELS)}.")]
ExactKernelName = Annotated[str, Option(help=f"{one_of(KERNELS)}.")]
_WITH_GAMMA = ", ".join(name for name, kernel in KERNELS.items() if kernel.gamma is not None)
Gamma = Annotated[
    float | None, Option(help=f"Parameter of {_WITH_GAMMA}; its default unless given.")
]
_WEIGHT_BITS = (
    f"Bits of each weight, {one_of(map(str, WEIGHT_BITS))}: with 8 or 4 a slot takes two bytes or "
    "one, and --n-bits is at most that"
)
WeightBits = Annotated[int, Option(help=f"{_WEIGHT_BITS}.")]
Figure = Annotated[Path | None, Option(metavar="FIGURE", help="Draw it: .png, .svg or .pdf.")]
Page = Annotated[
    Path | None,
    Option("--page", metavar="PAGE.html", help="Write a page about what was found."),
]
Format = Annotated[
    str | None,
    Option(
        help=f"{one_of(format_names())}, if the content does not tell; of documents "
        f"{one_of(documents.FORMATS)}."
    ),
]
OneBased = Annotated[
    bool | None,
    Option("--one-based/--zero-based", help="Where svmlight columns count from, if unclear."),
]


@dataclass(frozen=True)
class Output:
    """What is printed."""

    as_json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False
    quiet: Annotated[bool, Option("--quiet", "-q", help="No progress, notes or reports.")] = False

    @property
    def progress(self) -> bool | None:
        """Whether long calls show progress: where there is a terminal, unless quiet."""
        return False if self.quiet else None

    def show(self, result: dict[str, Any], reader: "Source", *targets: str | None) -> None:
        """Print a result, and before it what a reader noted about its file.

        Only the notes, if one of the targets is standard output.
        """
        self.show_notes(reader)
        if STANDARD_OUTPUT not in targets:
            show(result, self.as_json, self.quiet)

    def show_notes(self, reader: "Source") -> None:
        """Print what a reader noted about its file."""
        for note in getattr(reader, "notes", ()):
            self.note(f"{reader.name}: {note}")

    def note_unfinished(self, target: PathLike, resume: bool) -> None:
        """Say what an unfinished run has left, if anything, and what becomes of it."""
        unfinished = describe_unfinished(target)
        if unfinished is not None:
            what = "goes on with" if resume else "removes (--resume would go on with)"
            self.note(f"{target}: {what} {unfinished}")

    def note(self, text: str) -> None:
        """Print a note on standard error, unless quiet."""
        if not self.quiet:
            say(text, "note")


@dataclass(frozen=True)
class Text:
    """Where the text of documents is, and how it becomes rows."""

    text: Annotated[
        list[str] | None,
        Option(
            metavar="COLUMN", help="Take IN as documents, whose text is there; may be repeated."
        ),
    ] = None
    label: Annotated[
        str | None,
        Option(metavar="COLUMN", help="Labels of documents, or of rows from Parquet (`label`)."),
    ] = None
    id: Annotated[
        str | None, Option(metavar="COLUMN", help="What documents are called in results.")
    ] = None
    unit: Annotated[
        str | None, _unless_given(f"{one_of(UNITS)}: what n-grams are made of", TextSettings.unit)
    ] = None
    ngrams: Annotated[
        str | None, _unless_given("Length of n-grams, as 3 or 1-3", TextSettings.ngrams[0])
    ] = None
    weights: Annotated[
        str | None,
        _unless_given(
            f"{one_of(WEIGHTS)}: values of rows; for `index` also {one_of(BY_RARITY)}",
            TextSettings.weights,
        ),
    ] = None
    min_length: Annotated[
        int | None,
        _unless_given("Characters that a word must have", TextSettings.min_length),
    ] = None

    frequencies: Annotated[
        Path | None,
        Option(metavar="FILE", help="Weigh n-grams by their rarity, as `frequencies` counted it."),
    ] = None
    missing: Annotated[
        str, Option(help="error or zero: what a missing value of a table (CSV, TSV) is.")
    ] = "error"
    max_record_bytes: Annotated[
        int, Option(metavar="N", help="The longest document or line of text; beyond, an error.")
    ] = MAX_RECORD_BYTES
    skip_bad: Annotated[
        int, Option(metavar="N", help="Leave out up to N bad documents, named at the end.")
    ] = 0

    def open_as(
        self, path: str, engine: "files.Engine | None", output: Output | None, **options: Any
    ) -> Any:
        """A reader; for an engine, the plan of the parts. `options` are those of `open_reader`."""
        settings = {
            "unit": self.unit, "ngrams": _ngrams(self.ngrams), "weights": self.weights,
            "min_length": self.min_length,
        }  # fmt: skip
        if self.frequencies is not None:
            options["frequencies"] = ck.text.InverseDocumentFrequency.load(self.frequencies)
        options |= {
            "shingles": {name: value for name, value in settings.items() if value is not None},
            "text": self.text or None, "label": self.label, "id": self.id, "missing": self.missing,
            "skip_bad": self.skip_bad, "max_record_bytes": self.max_record_bytes,
        }  # fmt: skip
        if engine is None:
            return files.open_reader(path, **options)
        if self.skip_bad:  # documents are numbered beforehand
            raise ParameterError("--skip-bad: is for work in one process; leave out --engine.")
        del options["n_jobs"]
        progress = None if output is None else output.progress
        return files.plan_parts(engine, path, progress=progress, **options)


def _ngrams(text: str | None) -> tuple[int, int] | None:
    """The least and largest n, from "3" or "1-3"."""
    if text is None:
        return None
    try:
        least, _, most = text.partition("-")
        return int(least), int(most or least)
    except ValueError:
        raise ParameterError(f"--ngrams: got {text!r}; give a number, or two as 1-3.") from None


@dataclass(frozen=True)
class Reading(Text):
    """How a file of rows is read."""

    format: Format = None
    n_columns: Annotated[
        int | None, Option(help="Number of columns, if the file does not tell (a pipe cannot).")
    ] = None
    one_based: OneBased = None

    def open(
        self, path: str, engine: "files.Engine | None" = None, output: Output | None = None,
        n_jobs: int | None = None, **options: Any,
    ) -> Any:  # fmt: skip
        """A reader of rows or signatures; for an engine, the plan of their parts."""
        return self.open_as(
            path, engine, output, format=self.format, n_columns=self.n_columns,
            one_based=self.one_based, n_jobs=n_jobs, **options,
        )  # fmt: skip

    @property
    def given(self) -> str:
        """The options as they were given, for a command that reads the same file."""
        words = []
        for field in fields(self):
            name, value = f"--{field.name.replace('_', '-')}", getattr(self, field.name)
            if value is False and field.name == "one_based":
                words.append("--zero-based")
            elif value is True:
                words.append(name)
            elif value is not None and value != field.default:
                values = value if isinstance(value, list) else [value]
                words += [f"{name} {shlex.quote(str(one))}" for one in values]
        return " ".join(words)

    def open_rows(self, path: str, **options: Any) -> RowReader:
        """A reader of rows."""
        return require_rows(reader_of(self.open(path, **options)))


@dataclass(frozen=True)
class Matching(Text):
    """How rows are read that must have the columns of others known before."""

    one_based: OneBased = None
    ignore_new_columns: Annotated[
        bool, Option("--ignore-new-columns", help="Leave out columns that were not known before.")
    ] = False

    def open(
        self, path: str, trained: "Model | CoRENeighbors | AnyReader",
        engine: "files.Engine | None" = None, output: Output | None = None,
        n_jobs: int | None = None, **options: Any,
    ) -> Any:  # fmt: skip
        """As of `Reading`, over the columns that a model, an index or other rows have."""
        if isinstance(trained, RowReader | SignatureReader):
            columns, like, names = trained.n_columns, trained.provenance, None
        else:
            columns, like = trained.n_features_in_, trained.provenance_
            names = getattr(trained, "feature_names_in_", None)
        if engine is not None:
            options["part_rows"] = ROWS_PER_PART
        return self.open_as(
            path, engine, output, match_columns=columns, like=like, column_names=names,
            one_based=self.one_based, ignore_new_columns=self.ignore_new_columns, n_jobs=n_jobs,
            # an index brings its own
            frequencies=getattr(trained, "frequencies_", None), **options,
        )  # fmt: skip


def require_page(page: Path | None, *others: str | Path | None) -> None:
    """Raise unless a page, if one is asked for, can be written there: for use before long work.

    `others` are the files that are read, or written as well.
    """
    if page is not None:
        require_target(page, *(other for other in others if other is not None))
        from ..report.page import require_page_extra  # on use: few jobs write one

        require_page_extra()


def require_file_target(target: str) -> None:
    """Refuse standard output, where a cluster is to write."""
    if target == STANDARD_OUTPUT:
        raise ParameterError("-: a cluster writes to files; name one.")


def require_lines_target(target: str, cluster: "Cluster", resume: bool) -> None:
    """The same for a job that writes lines; in this process it leaves nothing to go on with."""
    if cluster:
        require_file_target(target)
    elif resume:
        raise ParameterError("--resume: is for work by parts; name an --engine.")


@dataclass(frozen=True)
class Cluster:
    """Where a job runs, if not in this process alone."""

    engine: Annotated[
        str | None,
        Option(
            help=f"{one_of(ENGINES)}: go through IN part by part on a cluster. IN may "
            "be a folder or a pattern, and all machines must reach it and OUT."
        ),
    ] = None
    address: Annotated[
        str | None, Option(help="Of the cluster; one is started here unless given.")
    ] = None
    workers: Annotated[
        int | None, Option(help="Processes of a cluster started here.  [default: one per core]")
    ] = None

    def __bool__(self) -> bool:
        if self.engine is None and (self.address is not None or self.workers is not None):
            raise ParameterError("--address, --workers: are for a cluster; name its --engine.")
        return self.engine is not None

    def started(self) -> contextlib.AbstractContextManager["files.Engine | None"]:
        """The engine, None for this process, to be used in a `with` block."""
        if not self:
            return contextlib.nullcontext()
        return files.open_engine(str(self.engine), self.address, self.workers)


@dataclass(frozen=True)
class Hashing:
    """How rows are hashed."""

    kernel: Annotated[str | None, _unless_given(one_of(HASHED_KERNELS), Recipe.kernel)] = None
    n_hashes: Annotated[int | None, _unless_given("Hashes per row, k", Recipe.n_hashes)] = None
    n_bits: Annotated[
        int | None, _unless_given(f"Bits kept of each, b: 1 to {MAX_BITS}", Recipe.n_bits)
    ] = None
    scheme: Annotated[str | None, _unless_given(one_of(SCHEMES), Recipe.scheme)] = None
    gamma: Gamma = None
    weight_bits: Annotated[int | None, _unless_given(_WEIGHT_BITS, Recipe.weight_bits)] = None
    seed: Annotated[int | None, _unless_given("Seed of the hash", Recipe.seed)] = None

    def recipe(self, source: "Source") -> Recipe:
        """The recipe that the options make for the columns of a source."""
        return recipe_for(source, **asdict(self))
