"""Types that most modules use."""

import os
from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]
PathLike = str | os.PathLike[str]
