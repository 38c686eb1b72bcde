"""What was found along C, as a report: accuracies, the best C, and what to run next."""

import math
from pathlib import Path

import numpy as np

from ..linear import CPath
from ..recipe import Recipe
from .layout import Figure, Line, Mark, Panel, Report, Section, Table, named_file

_QUANTILE = 1.96  # of 95 % intervals


def c_path_report(found: CPath, recipe: Recipe, source: str, options: str = "") -> Report:
    """A report on accuracies along C.

    Parameters
    ----------
    found : CPath
        From `files.sweep` or `linear.c_path`.
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
    sections = [_next(found, recipe, named_file(source, options)), _accuracies(found)]
    return Report(f"The best C for {Path(source).name}", _lead(found), sections)


def _lead(found: CPath) -> list[str]:
    place = int(np.flatnonzero(found.Cs == found.best_C)[0])
    mean, error = found.mean[place], found.standard_error[place]
    n_folds = found.scores.shape[1]
    how = f"in {n_folds} folds" if n_folds > 1 else "on the validation rows"
    interval = "" if math.isnan(error) else f" ± {100 * _QUANTILE * error:.1f}"
    lead = [f"Use C = {found.best_C:g}: {100 * mean:.1f}{interval} % of rows are right {how}."]
    near = found.Cs[found.mean >= mean - np.nan_to_num(error)]
    if len(near) > 1:
        lead.append(
            f"Any C from {near.min():g} to {near.max():g} tried here is within one standard error "
            "of it."
        )
    if len(found.Cs) > 1 and found.best_C in (found.Cs.min(), found.Cs.max()):
        end, more = (
            ("largest", "larger") if found.best_C == found.Cs.max() else ("smallest", "smaller")
        )
        lead.append(f"It is the {end} that was tried: try {more} ones too.")
    return lead


def _accuracies(found: CPath) -> Section:
    order = np.argsort(found.Cs)
    Cs, mean, error = found.Cs[order], 100 * found.mean[order], 100 * found.standard_error[order]
    margin = _QUANTILE * np.nan_to_num(error)
    curve = Line(
        "accuracy", Cs.tolist(), mean.tolist(), (mean - margin).tolist(), (mean + margin).tolist()
    )
    marks = [Mark(f"best, at C = {found.best_C:g}", float(mean.max()), "accuracy")]
    panel = Panel("Accuracy along C", "C", "accuracy, %", [curve], marks, log_x=True)
    figure = Figure(
        "accuracy", "The band is the 95 % interval of the mean.",
        "A curve of the accuracy over C, with a band around it.", [panel],
    )  # fmt: skip
    rows = [
        [f"{C:g}", f"{one:.2f}", None if math.isnan(wide) else f"± {_QUANTILE * wide:.2f}",
         f"{sweeps:.0f}"]
        for C, one, wide, sweeps in zip(
            Cs, mean, error, found.n_iter[order].mean(axis=1), strict=True
        )
    ]  # fmt: skip
    table = Table(
        "Accuracy in %, its 95 % interval, and sweeps over the rows per fit.",
        ["C", "accuracy", "interval", "sweeps"], rows,
    )  # fmt: skip
    return Section("accuracy", "Accuracy along C", [], [table], [figure])


def _next(found: CPath, recipe: Recipe, file: str) -> Section:
    gamma = "" if recipe.gamma is None else f" --gamma {recipe.gamma:g}"
    bits = "" if recipe.n_bits is None else f" --n-bits {recipe.n_bits}"
    command = (
        f"corekernels train {file} model.ck --kernel {recipe.kernel}{gamma} "
        f"--n-hashes {recipe.n_hashes}{bits} --seed {recipe.seed} --C {found.best_C:g}"
    )
    return Section("next", "What to run next", command=command, command_label="Run")
