"""Commands that learn and predict: train, predict, evaluate, path."""

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from .. import files, report
from ..classifier import CoREClassifier
from ..errors import ParameterError
from ..files.learning import Round, sweep
from ..files.prediction import RegressionEvaluation, label_text
from ..io.atomic import require_target
from ..linear.losses import loss_names
from ..linear.solver import SOLVERS
from ..models import Model, load_model
from ..report.c_path import c_path_figure
from ..report.drawing import require_figure, save_figure
from . import options
from .app import command
from .printing import STANDARD_OUTPUT, show, show_table, text_bars, to_write

LOSS_NAMES = loss_names("classes")

ModelFile = Annotated[Path, Argument(metavar="MODEL", help="Model file, from `train`.")]


@dataclass(frozen=True)
class Learning:
    """What is learned."""

    loss: Annotated[
        str | None,
        Option(help=f"{options.one_of(LOSS_NAMES)}.  [default: {LOSS_NAMES[0]}]"),
    ] = None
    balanced: Annotated[
        bool, Option("--balanced", help="Give rare classes more weight, in inverse proportion.")
    ] = False

    def parameters(self) -> dict[str, Any]:
        """The parameters of `CoREClassifier` that the options mean."""
        weights = "balanced" if self.balanced else None
        return {"loss": self.loss or LOSS_NAMES[0], "class_weight": weights}


@command("corekernels train train.svm model.ck --kernel core1 --n-hashes 256 --C 1 --seed 0")
def train(
    source: options.RowsOrSignatures,
    target: Annotated[Path, Argument(metavar="MODEL", help="Model file to write.")],
    hashing: options.Hashing,
    learning: Learning,
    reading: options.Reading,
    output: options.Output,
    regression: Annotated[
        bool, Option("--regression", help="Learn labels as numbers, not as classes.")
    ] = False,
    C: Annotated[
        float | None, Option("--C", help="Weight of the losses.  [default: 1, of --regression 3]")
    ] = None,
    tol: Annotated[float, Option(help="Duality gap to reach, as a share.")] = 1e-5,
    max_iter: Annotated[int, Option(help="Most passes over the rows.")] = 1000,
    solver: Annotated[
        str, Option(metavar="NAME", help=f"How to solve: {', '.join(SOLVERS)}.")
    ] = SOLVERS[0],
    merge: Annotated[
        bool,
        Option("--merge", help="On a cluster, hash there and learn here: faster below 10^7 rows."),
    ] = False,
    resume: options.Resume = False,
    *,
    cluster: options.Cluster,
    n_jobs: options.Jobs = None,
) -> None:
    """Learn to predict the labels of the rows of IN, hashed on the way or before."""
    if regression and learning != Learning():
        raise ParameterError("--regression: has no --loss and no --balanced; leave them out.")
    parameters: dict[str, Any] = {"tol": tol, "max_iter": max_iter}
    parameters |= {} if C is None else {"C": C}
    parameters |= {} if regression else learning.parameters()
    by_parts = bool(cluster) and not merge
    if not by_parts:
        parameters["solver"] = solver
    elif regression:
        raise ParameterError("--regression: is not learned by parts; give --merge too.")
    elif solver != SOLVERS[0]:
        raise ParameterError("--solver: is not for learning by parts; give --merge too.")
    if merge and not cluster:
        raise ParameterError("--merge: is for a cluster; name its --engine.")
    rounds: list[Round] = []
    with cluster.started() as engine:
        rows = reading.open(source, engine, output, n_jobs=n_jobs)
        output.note_unfinished(target, resume)
        model = files.train(
            rows, target, hashing.recipe(rows), regression=regression, engine=engine, merge=merge,
            resume=resume, on_round=rounds.append, progress=output.progress, n_jobs=n_jobs,
            **parameters,
        )  # fmt: skip
    about = _about_model(model, target)
    if by_parts:
        gap = max({one.block: one.gap for one in rounds}.values())
        about |= {
            "gap": gap,
            "rounds": [one._asdict() for one in rounds] if output.as_json else len(rounds),
        }
        if gap > tol:
            output.note(
                f"the duality gap is {gap:.1e} of the objective, more than --tol {tol:.1e}: raise "
                "--max-iter or --tol, lower --C, or give --merge"
            )
    output.show(about, rows)


def _about_model(model: Model, target: Path) -> dict[str, Any]:
    about: dict[str, Any] = {"target": str(target), "rows": model.linear_.n_rows_}
    if isinstance(model, CoREClassifier):
        about["classes"] = len(model.classes_)
    return about | {"C": model.C, "passes": model.n_iter_}


@command("corekernels predict model.ck test.svm labels.txt")
def predict(
    model: ModelFile,
    source: options.RowsOrSignatures,
    target: Annotated[str, Argument(metavar="OUT", help='File of labels, one per line; or "-".')],
    matching: options.Matching,
    output: options.Output,
    scores: Annotated[
        bool, Option("--scores", help="Write the score of each class too, with tabs between.")
    ] = False,
    proba: Annotated[
        bool, Option("--proba", help="Write the probability of each class too (log_loss only).")
    ] = False,
    resume: options.Resume = False,
    *,
    cluster: options.Cluster,
    format: options.Format = None,
    n_jobs: options.Jobs = None,
) -> None:
    """Write the predicted label or value of each row of IN, one per line."""
    if scores and proba:
        raise ParameterError("give either --scores or --proba.")
    if target != STANDARD_OUTPUT:
        require_target(target, model)
    loaded = _loaded(model, n_jobs)
    what = "scores" if scores else "probabilities" if proba else "labels"
    options.require_lines_target(target, cluster, resume)
    with cluster.started() as engine:
        rows = matching.open(
            source, loaded, engine, output, format=format, labels=False, n_jobs=n_jobs
        )
        if engine is not None:
            output.note_unfinished(target, resume)
        n_rows = files.predict(
            loaded, rows, to_write(target), output=what, engine=engine, resume=resume,
            progress=output.progress,
        )  # fmt: skip
    output.show({"target": target, "rows": n_rows}, rows, target)


@command("corekernels evaluate model.ck test.svm --json")
def evaluate(
    model: ModelFile,
    source: options.RowsOrSignatures,
    matching: options.Matching,
    output: options.Output,
    cluster: options.Cluster,
    format: options.Format = None,
    n_jobs: options.Jobs = None,
) -> None:
    """Accuracy of a model on the labelled rows of IN, class by class; R2 and errors of values."""
    loaded = _loaded(model, n_jobs)
    with cluster.started() as engine:
        rows = matching.open(source, loaded, engine, output, format=format, n_jobs=n_jobs)
        result = files.evaluate(loaded, rows, engine=engine, progress=output.progress)
    output.show_notes(rows)
    if isinstance(result, RegressionEvaluation):
        show(asdict(result), output.as_json)
        return
    names = ["rows", "accuracy", "standard_error"]
    if output.as_json:
        names += ["classes", "recall", "precision", "confusion"]
    show({name: getattr(result, name) for name in names}, output.as_json)
    if output.as_json:
        return
    print()
    labels = map(label_text, result.classes.tolist())
    columns = zip(
        labels, result.confusion.sum(axis=1), result.recall, result.precision, strict=True
    )
    table = [[label, f"{n:,}", f"{r:.4f}", f"{p:.4f}"] for label, n, r, p in columns]
    show_table(["class", "rows", "recall", "precision"], table)


@command("corekernels path train.svm --n-hashes 256 --Cs 0.01,0.1,1,10 --cv 3 --page path.html")
def path(
    source: options.RowsOrSignatures,
    hashing: options.Hashing,
    learning: Learning,
    reading: options.Reading,
    output: options.Output,
    Cs: Annotated[
        str, Option("--Cs", help="Values of C, with commas between.")
    ] = "0.001,0.01,0.1,1,10,100",
    cv: Annotated[int, Option(help="Folds of the cross-validation.")] = 5,
    validation: Annotated[
        str | None, Option(metavar="IN2", help="Rows to score on, instead of folds.")
    ] = None,
    ignore_new_columns: Annotated[
        bool, Option("--ignore-new-columns", help="Leave out columns of IN2 that IN lacks.")
    ] = False,
    plot: options.Figure = None,
    page: options.Page = None,
    target: Annotated[
        Path | None, Option("--model", metavar="MODEL", help="Write the best model there.")
    ] = None,
    n_jobs: options.Jobs = None,
) -> None:
    """Accuracy over a range of C, by cross-validation or on other rows; a table and a plot."""
    others = [name for name in (source, validation, target) if name is not None]
    if plot is not None:
        require_figure(plot, *others)
    options.require_page(page, *others, plot)
    reader = reading.open(source, n_jobs=n_jobs)
    recipe = hashing.recipe(reader)
    scored = None
    if validation is not None:
        text = {field.name: getattr(reading, field.name) for field in fields(options.Text)}
        matching = options.Matching(
            **text, one_based=reading.one_based, ignore_new_columns=ignore_new_columns
        )
        scored = matching.open(validation, reader, n_jobs=n_jobs)
    curve = sweep(
        reader, recipe, _numbers(Cs), target=target, validation=scored, cv=cv, n_jobs=n_jobs,
        progress=output.progress, **learning.parameters(),
    )  # fmt: skip
    output.show_notes(reader)
    if plot is not None:
        save_figure(c_path_figure(curve), plot)
    if page is not None:
        report.write_page(report.c_path_report(curve, recipe, source, reading.given), page)
    if output.as_json:
        result = {"Cs": curve.Cs, "accuracy": curve.mean, "standard_error": curve.standard_error}
        show(result | {"scores": curve.scores, "best_C": curve.best_C}, True)
        return
    bars = text_bars(curve.mean.tolist())
    lines = zip(curve.Cs, curve.mean, curve.standard_error, bars, strict=True)
    table = [
        [f"{C:g}", f"{mean:.4f}", f"{error:.4f}", bar + (" *" if curve.best_C == C else "")]
        for C, mean, error, bar in lines
    ]
    show_table(["C", "accuracy", "+-", ""], table)


def _loaded(path: Path, n_jobs: int | None) -> Model:
    model = load_model(path)
    model.set_params(n_jobs=n_jobs)
    model.linear_.set_params(n_jobs=n_jobs)
    return model


def _numbers(text: str) -> list[float]:
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        raise ParameterError(f"--Cs: got {text!r}; give numbers with commas between.") from None
