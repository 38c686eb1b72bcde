"""Messages and options in the words of the command line."""

import pytest

from corekernels.cli.options import Reading
from corekernels.cli.printing import name_options

OPTIONS = {
    "n_hashes": "--n-hashes", "C": "--C", "tol": "--tol", "max_iter": "--max-iter",
    "random_state": "--seed", "regression": "--regression", "error": "--error",
    "kernel": "--kernel", "one_based": "--one-based", "one_based=False": "--zero-based",
}  # fmt: skip


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("n_hashes: got 0; give 1.", "--n-hashes: got 0; give 1."),
        ("random_state: got -1; give 0.", "--seed: got -1; give 0."),
        ("learn a regressor (regression=True).", "learn a regressor (--regression)."),
        ("columns count from 1; pass one_based=False.", "columns count from 1; pass --zero-based."),
        ("read its rows with one_based=True.", "read its rows with --one-based."),
        ("give either error or n_hashes.", "give either --error or --n-hashes."),
        ("too much for tol=1e-5: raise max_iter or tol, or lower C.",
         "too much for --tol 1e-5: raise --max-iter or --tol, or lower --C."),
        ("C: does not exist.", "C: does not exist."),
        ("rows/n_hashes.svm: has no labels.", "rows/n_hashes.svm: has no labels."),
        ("the kernel of two rows: an error.", "the kernel of two rows: an error."),
    ],
)  # fmt: skip
def test_arguments_are_named_as_options(message, expected):
    assert name_options(message, OPTIONS) == expected
    assert name_options(message, {}) == message


@pytest.mark.parametrize(
    ("options", "given"),
    [
        ({}, ""),
        ({"one_based": False}, "--zero-based"),
        ({"one_based": True, "n_columns": 7}, "--n-columns 7 --one-based"),
        (
            {"text": ["title", "the body"], "label": "subject", "ngrams": "1-2"},
            "--text title --text 'the body' --label subject --ngrams 1-2",
        ),
    ],
)
def test_how_a_file_is_read_can_be_said_again(options, given):
    assert Reading(**options).given == given
