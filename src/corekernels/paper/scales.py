"""How much of the paper a run repeats."""

SCALES = {
    "quick": "scikit-learn's digits, a minute",
    "full": "the paper's data sets, an hour and a half on two cores",
}
