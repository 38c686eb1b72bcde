"""Examples of docstrings run in an empty folder, so that they may write files."""

import pytest


@pytest.fixture(autouse=True)
def folder_of_examples(request: pytest.FixtureRequest) -> None:
    """For examples only; a test that writes asks for a folder of its own."""
    if isinstance(request.node, pytest.DoctestItem):
        folder = request.getfixturevalue("tmp_path")
        request.getfixturevalue("monkeypatch").chdir(folder)
