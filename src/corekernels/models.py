"""Models from files, whichever kind they are."""

from ._core.types import PathLike
from .classifier import CoREClassifier
from .linear.model_file import CLASSIFIER, REGRESSOR, read_model
from .regressor import CoRERegressor

Model = CoREClassifier | CoRERegressor


def load_model(path: PathLike) -> Model:
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
    saved = read_model(path, CLASSIFIER, REGRESSOR)
    if saved.classes is None:
        return CoRERegressor._restored(path, saved)
    return CoREClassifier._restored(path, saved)
