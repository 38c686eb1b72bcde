"""Report on accuracies along C: the best C, its interval, and the next command."""

import math
from pathlib import Path

import numpy as np

from ..linear import CPath
from ..recipe import Recipe
from .layout import Figure, Line, Mark, Panel, Report, Section, Table, named_file

_QUANTILE = 1.96  # of 95 % intervals


def c_path_report(path: CPath, recipe: Recipe, source: str, options: str = "") -> Report:
    """A report on accuracies along C.

    Parameters
    ----------
    path : CPath
        From `linear.c_path`.
    recipe : Recipe
        How the rows were hashed.
    source, options : str
        As for `survey_report`.

    Examples
    --------
    >>> import corekernels as ck
    >>> S = ck.CoREHasher(n_hashes=64, random_state=0).fit([[1.0, 0]]).sketch([[1.0, 0], [0, 1]])
    >>> path = ck.linear.c_path(S, [0, 1], [0.01, 1], validation=(S, [0, 1]))
    >>> ck.report.c_path_report(path, S.recipe, "rows.svm").title
    'The best C for rows.svm'
    """
    accuracies = Section("accuracy", "Accuracy along C", [], [_table(path)], [c_path_figure(path)])
    sections = [_next(path, recipe, named_file(source, options)), accuracies]
    return Report(f"The best C for {Path(source).name}", _lead(path), sections)


def _lead(path: CPath) -> list[str]:
    place = int(np.flatnonzero(path.Cs == path.best_C)[0])
    mean, error = path.mean[place], path.standard_error[place]
    n_folds = path.scores.shape[1]
    how = f"in {n_folds} folds" if n_folds > 1 else "on the validation rows"
    interval = "" if math.isnan(error) else f" ± {100 * _QUANTILE * error:.1f}"
    lead = [f"Use C = {path.best_C:g}: {100 * mean:.1f}{interval} % of rows are right {how}."]
    near = path.Cs[path.mean >= mean - np.nan_to_num(error)]
    if len(near) > 1:
        lead.append(
            f"Any C from {near.min():g} to {near.max():g} tried here is within one standard error "
            "of it."
        )
    if len(path.Cs) > 1 and path.best_C in (path.Cs.min(), path.Cs.max()):
        end, more = (
            ("largest", "larger") if path.best_C == path.Cs.max() else ("smallest", "smaller")
        )
        lead.append(f"It is the {end} that was tried: try {more} ones too.")
    return lead


def c_path_figure(path: CPath) -> Figure:
    """Accuracy along C with its 95 % interval."""
    order = np.argsort(path.Cs)
    mean, error = 100 * path.mean[order], 100 * path.standard_error[order]
    margin = _QUANTILE * np.nan_to_num(error)
    curve = Line(
        "accuracy", path.Cs[order].tolist(), mean.tolist(), (mean - margin).tolist(),
        (mean + margin).tolist(),
    )  # fmt: skip
    marks = [Mark(f"best, at C = {path.best_C:g}", float(mean.max()), "accuracy")]
    panel = Panel("Accuracy along C", "C", "accuracy, %", [curve], marks, log_x=True)
    return Figure(
        "accuracy", "The band is the 95 % interval of the mean.",
        "A curve of the accuracy over C, with a band around it.", [panel],
    )  # fmt: skip


def _table(path: CPath) -> Table:
    rows = [
        [f"{path.Cs[i]:g}", f"{100 * path.mean[i]:.2f}", _margin(path.standard_error[i]),
         f"{path.n_iter[i].mean():.0f}"]
        for i in np.argsort(path.Cs)
    ]  # fmt: skip
    return Table(
        "Accuracy in %, its 95 % interval, and sweeps over the rows per fit.",
        ["C", "accuracy", "interval", "sweeps"], rows,
    )  # fmt: skip


def _margin(error: float) -> str | None:
    return None if math.isnan(error) else f"± {100 * _QUANTILE * error:.2f}"


def _next(path: CPath, recipe: Recipe, file: str) -> Section:
    gamma = "" if recipe.gamma is None else f" --gamma {recipe.gamma:g}"
    bits = "" if recipe.n_bits is None else f" --n-bits {recipe.n_bits}"
    command = (
        f"corekernels train {file} model.ck --kernel {recipe.kernel}{gamma} "
        f"--n-hashes {recipe.n_hashes}{bits} --seed {recipe.seed} --C {path.best_C:g}"
    )
    return Section("next", "What to run next", command=command, command_label="Run")
