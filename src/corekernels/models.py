"""Models from files, whichever kind they are."""

from ._core.arguments import PathLike
from .classifier import CoREClassifier
from .linear.core_model import CLASSIFIER, REGRESSOR, read_model
from .regressor import CoRERegressor

Model = CoREClassifier | CoRERegressor


def load_model(path: PathLike) -> Model:
    """The classifier or regressor that a file holds, as `save` wrote it.

    Examples
    --------
    >>> import corekernels as ck
    >>> model = ck.CoRERegressor(n_hashes=16, random_state=0).fit([[1.0, 0], [0, 1]], [3.0, 5.0])
    >>> model.save("model.safetensors")
    >>> again = ck.load_model("model.safetensors")
    >>> type(again).__name__, bool((again.predict([[0, 2.0]]) == model.predict([[0, 2.0]])).all())
    ('CoRERegressor', True)
    """
    container = read_model(path, CLASSIFIER, REGRESSOR)
    kind = CoREClassifier if container.kind == CLASSIFIER else CoRERegressor
    return kind._restored(path, container)
