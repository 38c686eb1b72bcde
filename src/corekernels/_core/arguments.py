"""Numbers, names and seeds among the arguments; arrays come in through `validation`."""

import importlib
import operator
import os
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import MissingExtra, ParameterError

Array = npt.NDArray[Any]
PathLike = str | os.PathLike[str]


def require_extra(module: str, extra: str, what: str) -> Any:
    """A module of an optional package, which an extra of corekernels installs.

    Raises `MissingExtra` if it is not there; `what` it is needed for is in the plural.

    >>> require_extra("nowhere", "plot", "figures")
    Traceback (most recent call last):
    corekernels.errors.MissingExtra: figures need nowhere, which is not installed; install it
    with: pip install 'corekernels[plot]'
    """
    package = module.partition(".")[0]
    try:
        importlib.import_module(package)
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f"{what} need {package}, which is not installed; install it with: "
            f"pip install 'corekernels[{extra}]'"
        ) from error


def require_positive(name: str, value: Any) -> float:
    """A finite number above zero."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) < np.inf:
        raise ParameterError(f"{name}: got {value!r}; give a number above 0.")
    return float(value)


def require_gamma(value: Any) -> float:
    """A finite number of at least zero."""
    if isinstance(value, np.ndarray) and value.size == 1:  # scikit-learn's Gaussian processes
        value = value.item()
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= float(value) < np.inf:
        raise ParameterError(f"gamma: got {value!r}; give a finite number >= 0.")
    return float(value)


def require_count(name: str, value: Any, least: int = 1) -> int:
    """An integer of at least one, or of another least value."""
    number = _integer(name, value)
    if not least <= number < 2**63:
        raise ParameterError(f"{name}: got {value!r}; give {least} or more.")
    return number


def require_integer(name: str, value: Any, low: int, high: int) -> int:
    """An integer from `low` to `high`."""
    number = _integer(name, value)
    if not low <= number <= high:
        raise ParameterError(f"{name}: got {value!r}; give an integer from {low} to {high}.")
    return number


def _integer(name: str, value: Any) -> int:
    try:
        if not isinstance(value, bool | np.bool_):
            return operator.index(value)
    except TypeError:
        pass
    raise ParameterError(f"{name}: got {value!r}; give an integer.")


def require_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """One of the names in `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(f"{name}: got {value!r}; choose one of {', '.join(choices)}.")
    return value


def seed_of(random_state: Any, name: str = "random_state") -> int:
    """An integer from 0 to 2**64 - 1 is its own seed; anything else is drawn from."""
    if isinstance(random_state, Integral) and not isinstance(random_state, bool):
        seed = int(random_state)
        if not 0 <= seed < 2**64:
            raise ParameterError(f"{name}: got {seed}; give an integer from 0 to {2**64 - 1}.")
        return seed
    if random_state is None or random_state is np.random:
        random_state = np.random.mtrand._rand  # the state of NumPy's own functions
    if not isinstance(random_state, np.random.RandomState):
        raise ParameterError(
            f"{name}: got {random_state!r}; give an integer, a RandomState or None."
        )
    return int(random_state.randint(np.iinfo(np.int32).max))


def short_seed(seed: int) -> int:
    """A seed for scikit-learn, which takes 32 bits: itself if it fits, else its halves combined."""
    return (seed ^ (seed >> 32)) & 0xFFFFFFFF


def parameters_for_file(model: Any, seed: int, gamma: float | None) -> dict[str, Any]:
    """The parameters of an estimator with the seed and the gamma that were used."""
    parameters: dict[str, Any] = model.get_params(deep=False)
    return parameters | {"random_state": seed, "gamma": gamma}
