"""Pages about advice, rows and the path over C: what they say, and that a browser shows it."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import SVC, LinearSVC

import corekernels as ck
from corekernels.advice import Advice, Candidate, Confusion
from corekernels.files.surveys import Histogram
from corekernels.linear import CPath
from corekernels.recipe import Recipe
from corekernels.report import advice_report, c_path_report, survey_report, write_page
from corekernels.report.page import html_page
from support.browser import find_browser, require_readable

pytest.importorskip("matplotlib", reason="pages need the extra report")
pytest.importorskip("jinja2", reason="pages need the extra report")

ESTIMATORS = {
    "linear": make_pipeline(MaxAbsScaler(), LinearSVC()),
    "hashed": make_pipeline(ck.CoREClassifier(n_hashes=256)),
    "exact": make_pipeline(SVC(kernel=ck.core1)),
    "boosting": make_pipeline(HistGradientBoostingClassifier()),
}
CONFUSED = (Confusion("a <b>", "c", 3, 60),)


def advice(best="hashed", confused=CONFUSED):
    candidates = [
        Candidate(
            f"{kind}, of {i}", kind, estimator, 0.9 + i / 100, 0.05, i / 100, 0.02, 0.02 * (i + 1)
        )
        for i, (kind, estimator) in enumerate(ESTIMATORS.items())
    ]
    best = next(candidate for candidate in candidates if candidate.kind == best)
    verdict = "core" if best.is_core else "other"
    return Advice(
        tuple(candidates),
        best,
        verdict,
        "Use it.",
        "accuracy",
        500,
        4,
        15,
        ("a note",),
        tuple(confused),
    )


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return sparse.random_array((60, 40), density=0.2, format="csr", rng=rng)


def path(best_C=1.0):
    Cs, scores = np.array([1.0, 0.1, 10.0]), np.array([[0.9, 0.8], [0.7, 0.75], [0.8, 0.7]])
    errors = scores.std(axis=1, ddof=1) / np.sqrt(2)
    return CPath(Cs, scores, errors, np.ones((3, 2), int), best_C, None)


@pytest.fixture
def survey(rows, tmp_path):
    ck.io.write_rows(tmp_path / "rows.npz", rows, np.arange(rows.shape[0]) % 3)
    return ck.files.survey(ck.files.open_reader(tmp_path / "rows.npz"), progress=False)


def test_advice_shows_code_and_the_command_that_does_the_same(rows):
    report = advice_report(advice(), rows, "my rows.svm", "--one-based")
    assert report.lead[0].startswith("Yes")
    assert report.sections[0].code.endswith("model = ck.CoREClassifier(n_hashes=256)")
    said = "corekernels train 'my rows.svm' --one-based model.ck --kernel core1 --n-hashes 256"
    assert said in report.sections[0].command
    assert report.title == "Does CoRE help on my rows.svm?"


@pytest.mark.parametrize("best", ["linear", "exact", "boosting"])
def test_advice_without_a_command_shows_code_alone(rows, best):
    report = advice_report(advice(best), rows, "rows.svm")
    assert report.lead[0].startswith("Yes" if best == "exact" else "No")
    assert type(ESTIMATORS[best][-1]).__name__ in report.sections[0].code
    assert report.sections[0].command is None


def test_intervals_of_advice_end_at_all_rows_right(rows):
    report = advice_report(advice(), rows, "rows.svm")
    (figure,) = (figure for figure in report.figures() if figure.name == "scores")
    intervals = figure.panels[0].intervals
    assert [one.value for one in intervals] == pytest.approx([93, 92, 91, 90])
    assert [one.high for one in intervals] == pytest.approx([98, 97, 96, 95])
    assert [one.name for one in intervals if one.stands_out] == ["hashed, of 1"]


def test_costs_of_advice_grow_with_the_rows_or_their_square(rows):
    report = advice_report(advice(), rows, "rows.svm")
    (section,) = (section for section in report.sections if section.name == "cost")
    cells = {row[0].split(",")[0]: row[1:] for row in section.tables[0].rows}
    assert cells["hashed"] == ["40 ms", "0.4 s", "4.0 s"]
    assert cells["exact"] == ["60 ms", "6.0 s", "10 min"]


def test_no_confusions_no_section(rows):
    sections = advice_report(advice(confused=()), rows, "rows.svm").sections
    assert "confused" not in [section.name for section in sections]


def test_the_path_says_which_C_and_when_to_look_further():
    recipe = Recipe("core1", 64, seed=3, n_columns=40)
    report = c_path_report(path(), recipe, "rows.svm")
    assert report.lead[0] == "Use C = 1: 85.0 ± 9.8 % of rows are right in 2 folds."
    assert "--n-hashes 64 --n-bits 8 --seed 3 --C 1" in report.sections[0].command
    assert not any("that was tried" in text for text in report.lead)
    at_the_end = c_path_report(path(10.0), recipe, "rows.svm")
    assert "It is the largest that was tried: try larger ones too." in at_the_end.lead


def test_rows_are_described(survey):
    report = survey_report(survey, "rows.npz")
    assert report.lead[0].startswith("60 rows with 40 columns, 20.00% of whose values")
    assert "corekernels hash rows.npz rows.sig --kernel" in report.sections[0].command
    (figure,) = (figure for figure in report.figures() if figure.name == "rows")
    lengths, values = (panel.lines[0] for panel in figure.panels)
    assert sum(lengths.y) == 60
    assert sum(values.y) == 480


def test_pages_escape_labels(rows):
    text = html_page(advice_report(advice(), rows, "rows.svm"))
    assert "a &lt;b&gt;" in text
    assert "a <b>" not in text


@pytest.mark.skipif(find_browser() is None, reason="needs chromium or google-chrome")
@pytest.mark.parametrize("name", ["advice", "path", "rows"])
def test_a_browser_shows_all_of_it(name, rows, survey, tmp_path):
    made = {
        "advice": lambda: advice_report(advice(), rows, "rows.svm"),
        "path": lambda: c_path_report(path(), Recipe("core1", 64, n_columns=40), "rows.svm"),
        "rows": lambda: survey_report(survey, "rows.npz"),
    }
    require_readable(write_page(made[name](), tmp_path / f"{name}.html"))


@pytest.mark.parametrize(
    ("values", "counts", "log"),
    [
        ([0.5], (1,), False),
        ([], (0,), False),
        ([3, 3, 3], (3,), False),
        ([0, 1, 1, 2], (1, 2, 1), False),
        ([1e-3, 1.0, 1e3], None, True),
        ([-1e308, 0.0, 1e308], None, False),
    ],
)
def test_histograms_hold_all_values(values, counts, log):
    found = Histogram.of(values)
    assert sum(found.counts) == len(values)
    assert counts is None or found.counts == counts
    assert found.log == log
    assert len(found.edges) == len(found.counts) + 1
