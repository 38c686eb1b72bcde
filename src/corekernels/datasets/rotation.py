"""Images turned by random angles."""

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import DataError


def rotate_images(images: Any, *, seed: int = 0) -> npt.NDArray[np.float32]:
    """Images turned about their centres by angles uniform on the circle.

    Values between pixels are bilinear; what comes from outside the image is 0.

    Parameters
    ----------
    images : array-like of shape (n, height, width)
    seed : int
        The angles depend on the seed and n alone.

    Returns
    -------
    ndarray of the same shape, float32

    Examples
    --------
    >>> import numpy as np
    >>> from corekernels import datasets
    >>> images = np.zeros((1, 5, 5)); images[0, 2, 2] = 1
    >>> float(datasets.rotate_images(images, seed=3)[0, 2, 2])   # the centre stays
    1.0
    """
    from scipy import ndimage  # a third of a second that `import corekernels` does without

    images = np.asarray(images)
    if images.ndim != 3:
        raise DataError(f"images: has {images.ndim} dimensions; give (n, height, width).")
    angles = np.random.default_rng(seed).uniform(0, 2 * np.pi, len(images))
    centre = (np.array(images.shape[1:]) - 1) / 2
    out = np.empty(images.shape, np.float32)
    for image, angle, target in zip(images, angles, out, strict=True):
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        source = image.astype(np.float32)
        ndimage.affine_transform(source, turn, centre - turn @ centre, order=1, output=target)
    return out
