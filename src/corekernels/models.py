"""Models from files, whichever kind they are."""

import os

from .classifier import CoREClassifier
from .io.containers import container_kind
from .linear.model_file import REGRESSOR
from .regressor import CoRERegressor

Model = CoREClassifier | CoRERegressor


def load_model(path: str | os.PathLike[str]) -> Model:
    """The classifier or regressor that a file holds, as `save` wrote it.

    Examples
    --------
    >>> import corekernels as ck, os, tempfile
    >>> model = ck.CoRERegressor(n_hashes=16, random_state=0).fit([[1.0, 0], [0, 1]], [3.0, 5.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "model.safetensors"))
    ...     again = ck.load_model(os.path.join(folder, "model.safetensors"))
    >>> type(again).__name__, bool((again.predict([[0, 2.0]]) == model.predict([[0, 2.0]])).all())
    ('CoRERegressor', True)
    """
    if os.path.isfile(path) and container_kind(path) == REGRESSOR:
        return CoRERegressor.load(path)
    return CoREClassifier.load(path)  # says what is wrong with any other file
