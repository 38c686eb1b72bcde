"""Tasks for engines: functions that other processes can import."""

import os
import time

import numpy as np

from corekernels import Recipe
from corekernels.errors import DataError, FileError, RecipeMismatch


def power(base, exponent):
    return base**exponent


def noise(scale, seed):
    """Numbers whose sum depends on the order of the terms in its last bits, and a one."""
    return scale * np.random.default_rng(seed).normal(size=50), 1


def bad_part(bad, number):
    if number == bad:
        raise FileError(f"part {number}: is bad; make it again.")
    return (number,)


def nameless_error(bad, part):
    if part.number == bad:
        raise DataError("y: labels are wrong; mend them.")


def mismatch(_, number):
    raise RecipeMismatch(Recipe(n_columns=3, n_hashes=8), Recipe(n_columns=3, n_hashes=16))


def own_pid(_, number):
    """The process that the task runs in; slow enough for all workers to get one."""
    time.sleep(0.05)
    return os.getpid()
