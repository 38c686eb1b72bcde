"""Commands that learn and judge: train, predict, evaluate, path."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import files, plotting
from ..classifier import CoREClassifier
from ..errors import ParameterError
from . import frame
from .frame import command
from .progress import watched

Loss = Annotated[str, typer.Option(help="squared_hinge, hinge or log_loss.")]
Balanced = Annotated[
    bool, typer.Option("--balanced", help="Give rare classes more weight, in inverse proportion.")
]
Tolerance = Annotated[float, typer.Option(help="Duality gap to reach, as a share.")]
Sweeps = Annotated[int, typer.Option(help="Most sweeps over the rows.")]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file, from `train`.")]


@command("corekernels train train.svm model.ck --kernel core1 --n-hashes 256 --C 1 --seed 0")
def train(
    source: frame.AnySource,
    target: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file to write.")],
    kernel: frame.Kernel = None,
    n_hashes: frame.Hashes = None,
    n_bits: frame.Bits = None,
    scheme: frame.Scheme = None,
    projection: frame.Projection = None,
    seed: frame.Seed = None,
    C: Annotated[float, typer.Option("--C", help="Weight of the losses.")] = 1.0,
    loss: Loss = "squared_hinge",
    balanced: Balanced = False,
    tol: Tolerance = 1e-5,
    max_iter: Sweeps = 1000,
    format: frame.Format = None,
    n_columns: frame.Columns = None,
    one_based: frame.OneBased = None,
    n_jobs: frame.Jobs = None,
    as_json: frame.AsJson = False,
    quiet: frame.Quiet = False,
) -> None:
    """Learn to classify the labelled rows of IN, hashed on the way or before."""
    reader = files.open_source(source, format=format, n_columns=n_columns, one_based=one_based)
    recipe = files.recipe_for(
        reader, kernel=kernel, n_hashes=n_hashes, n_bits=n_bits, scheme=scheme,
        projection=projection, seed=seed,
    )  # fmt: skip
    with watched(reader, "hashing", quiet) as rows:
        model = files.train(
            rows, target, recipe, n_jobs=n_jobs, C=C, loss=loss, tol=tol, max_iter=max_iter,
            class_weight="balanced" if balanced else None,
        )  # fmt: skip
    frame.show_notes(reader, quiet)
    about = {"target": str(target), "rows": model.linear_._rows, "classes": len(model.classes_)}
    frame.show(about | {"C": C, "sweeps": model.n_iter_}, as_json, quiet)


@command("corekernels predict model.ck test.svm labels.txt")
def predict(
    model: Model,
    source: frame.AnySource,
    target: Annotated[
        str, typer.Argument(metavar="OUT", help='File of labels, a line each; or "-".')
    ],
    format: frame.Format = None,
    one_based: frame.OneBased = None,
    ignore_new_columns: frame.IgnoreNew = False,
    n_jobs: frame.Jobs = None,
    as_json: frame.AsJson = False,
    quiet: frame.Quiet = False,
) -> None:
    """Write the predicted label of each row of IN, a label a line."""
    if target != "-":
        files.require_target(target, model)
    classifier = _loaded(model, n_jobs)
    reader = _rows_for(classifier, source, format, one_based, ignore_new_columns, labels=False)
    with watched(reader, "predicting", quiet) as rows:
        n_rows = files.predict(classifier, rows, sys.stdout.buffer if target == "-" else target)
    frame.show_notes(reader, quiet)
    if target != "-":
        frame.show({"target": target, "rows": n_rows}, as_json, quiet)


@command("corekernels evaluate model.ck test.svm --json")
def evaluate(
    model: Model,
    source: frame.AnySource,
    format: frame.Format = None,
    one_based: frame.OneBased = None,
    ignore_new_columns: frame.IgnoreNew = False,
    n_jobs: frame.Jobs = None,
    as_json: frame.AsJson = False,
    quiet: frame.Quiet = False,
) -> None:
    """Accuracy of a model on the labelled rows of IN, with its standard error; class by class."""
    classifier = _loaded(model, n_jobs)
    reader = _rows_for(classifier, source, format, one_based, ignore_new_columns, labels=True)
    with watched(reader, "evaluating", quiet) as rows:
        found = files.evaluate(classifier, rows)
    frame.show_notes(reader, quiet)
    names = [files.label_text(label) for label in found.classes.tolist()]
    summary: dict[str, Any] = {
        "rows": found.rows, "accuracy": found.accuracy, "standard_error": found.standard_error,
    }  # fmt: skip
    if as_json:
        by_class = {
            "classes": found.classes, "recall": found.recall, "precision": found.precision,
            "confusion": found.confusion,
        }  # fmt: skip
        frame.show(summary | by_class, True)
        return
    frame.show(summary, False)
    print()
    counts = found.confusion.sum(axis=1)
    rows_of_table = [
        [name, f"{count:,}", f"{recall:.4f}", f"{precision:.4f}"]
        for name, count, recall, precision in zip(
            names, counts, found.recall, found.precision, strict=True
        )
    ]
    frame.show_table(["class", "rows", "recall", "precision"], rows_of_table)


@command("corekernels path train.svm --n-hashes 256 --Cs 0.01,0.1,1,10 --cv 3")
def path(
    source: frame.AnySource,
    Cs: Annotated[
        str, typer.Option("--Cs", help="Values of C, with commas between.")
    ] = "0.001,0.01,0.1,1,10,100",
    cv: Annotated[int, typer.Option(help="Folds of the cross-validation.")] = 5,
    validation: Annotated[
        str | None, typer.Option(metavar="IN2", help="Rows to score on, instead of folds.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FIGURE", help="Draw it: .png, .svg or .pdf.")
    ] = None,
    target: Annotated[
        Path | None, typer.Option("--model", metavar="MODEL", help="Write the best model there.")
    ] = None,
    kernel: frame.Kernel = None,
    n_hashes: frame.Hashes = None,
    n_bits: frame.Bits = None,
    scheme: frame.Scheme = None,
    projection: frame.Projection = None,
    seed: frame.Seed = None,
    loss: Loss = "squared_hinge",
    balanced: Balanced = False,
    format: frame.Format = None,
    n_columns: frame.Columns = None,
    one_based: frame.OneBased = None,
    ignore_new_columns: frame.IgnoreNew = False,
    n_jobs: frame.Jobs = None,
    as_json: frame.AsJson = False,
    quiet: frame.Quiet = False,
) -> None:
    """Accuracy over a range of C, by cross-validation or on other rows; a table and a plot."""
    if plot is not None:
        plotting.require_figure(plot)
    reader = files.open_source(source, format=format, n_columns=n_columns, one_based=one_based)
    recipe = files.recipe_for(
        reader, kernel=kernel, n_hashes=n_hashes, n_bits=n_bits, scheme=scheme,
        projection=projection, seed=seed,
    )  # fmt: skip
    judged = None
    if validation is not None:
        judged = files.open_matching(
            validation, recipe.n_columns, one_based=one_based, like=files.sources_of(reader),
            ignore_new_columns=ignore_new_columns,
        )  # fmt: skip
    with watched(reader, "hashing", quiet) as rows:
        found = files.sweep(
            rows, recipe, _numbers(Cs), target=target, validation=judged, cv=cv, n_jobs=n_jobs,
            progress=False if quiet else None, loss=loss,
            class_weight="balanced" if balanced else None,
        )  # fmt: skip
    frame.show_notes(reader, quiet)
    if plot is not None:
        plotting.save_figure(plotting.draw_c_path(found), plot)
    if as_json:
        result = {"Cs": found.Cs, "accuracy": found.mean, "standard_error": found.standard_error}
        frame.show(result | {"scores": found.scores, "best_C": found.best_C}, True)
        return
    best = [" *" if found.best_C == C else "" for C in found.Cs]
    bars = plotting.text_bars(found.mean)
    lines = zip(found.Cs, found.mean, found.standard_error, bars, best, strict=True)
    table = [
        [f"{C:g}", f"{mean:.4f}", f"{error:.4f}", bar + star] for C, mean, error, bar, star in lines
    ]
    frame.show_table(["C", "accuracy", "+-", ""], table)


def _loaded(model: Path, n_jobs: int | None) -> CoREClassifier:
    classifier = CoREClassifier.load(model)
    classifier.set_params(n_jobs=n_jobs)
    classifier.linear_.set_params(n_jobs=n_jobs)
    return classifier


def _rows_for(
    model: CoREClassifier, source: str, format: str | None, one_based: bool | None,
    ignore_new_columns: bool, labels: bool,
) -> Any:  # fmt: skip
    return files.open_matching(
        source, model.recipe_.n_columns, format=format, one_based=one_based, labels=labels,
        like=getattr(model, "sources_", None), ignore_new_columns=ignore_new_columns,
    )  # fmt: skip


def _numbers(text: str) -> list[float]:
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        raise ParameterError(f"--Cs: got {text!r}; give numbers with commas between.") from None
