"""What notebooks show: short tables, and links of estimators to their documentation."""

import importlib
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn import config_context
from sklearn.utils import estimator_html_repr

import corekernels as ck
from corekernels._core.escaping import html_table
from corekernels._core.estimator import SITE

X = np.eye(4) + 1.0


class Cells(HTMLParser):
    """The texts of the cells of a table."""

    def __init__(self, text):
        super().__init__()
        self.cells, self.tags = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        if self.tags[-1] in ("th", "td", "caption"):
            self.cells.append(data)


def facts(text):
    title, *cells = Cells(text).cells
    return title, dict(zip(cells[::2], cells[1::2], strict=True))


def test_signatures_and_recipes_show_themselves():
    S = ck.CoREHasher("core2", 16, random_state=3).fit(X).sketch(X)
    title, shown = facts(S.recipe._repr_html_())
    assert title == "Recipe"
    assert shown["kernel"] == "core2"
    assert shown["n_hashes"] == "16"
    assert "gamma" not in shown
    title, of_signatures = facts(S._repr_html_())
    assert title == "Signatures"
    assert of_signatures["rows"] == "4"
    assert shown.items() <= of_signatures.items()


def test_an_index_shows_what_is_in_it():
    index = ck.CoRENeighbors(n_neighbors=1, random_state=0)
    assert "Index" not in index._repr_html_()
    index.fit(X)
    for text in (index._repr_html_(), index._repr_mimebundle_()["text/html"]):
        assert text.startswith(estimator_html_repr(index)[:7])
        assert "exact search: 4 rows are few" in text
    with config_context(display="text"):
        assert list(index._repr_mimebundle_()) == ["text/plain"]


def test_texts_are_escaped():
    text = html_table("<i>", {"<b>": "<u>", "n": 12345, "x": 0.123456, "no": None})
    assert not {"i", "b", "u"} & set(Cells(text).tags)
    assert facts(text) == ("<i>", {"<b>": "<u>", "n": "12,345", "x": "0.1235"})


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (ck.CoREHasher(), "corekernels.CoREHasher"),
        (ck.CoREClassifier(), "corekernels.CoREClassifier"),
        (ck.CoRERegressor(), "corekernels.CoRERegressor"),
        (ck.CoRENeighbors(), "corekernels.CoRENeighbors"),
        (ck.CoRENeighborsTransformer(), "corekernels.CoRENeighborsTransformer"),
        (ck.linear.HashedLinearClassifier(), "corekernels.linear.HashedLinearClassifier"),
        (ck.linear.HashedLinearRegressor(), "corekernels.linear.HashedLinearRegressor"),
        (ck.text.Shingles(), "corekernels.text.Shingles"),
        (ck.text.InverseDocumentFrequency(), "corekernels.text.InverseDocumentFrequency"),
    ],
)
def test_estimators_link_to_their_page(estimator, name):
    address = f"{SITE}/api/generated/{name}.html"
    assert estimator._get_doc_link() == address
    assert address in estimator_html_repr(estimator)
    module, _, public = name.rpartition(".")
    assert getattr(importlib.import_module(module), public) is type(estimator)
