"""Products of rounded weights: the expansions against the definition, integrated numerically."""

import numpy as np
import pytest
from scipy.special import ndtr

from corekernels.theory.dependence import rounded_cosine, rounded_normal

BITS = (4, 8)
ROUNDINGS = {"normal": rounded_normal, "cosine": rounded_cosine}


def rounded(w, rounding, bits):
    half = 2 ** (bits - 1)
    return (2 * np.clip(np.floor(w * rounding.per_unit), -half, half - 1) + 1) * rounding.unit


def moments(law, mean, bits, power):
    """E[q(w)^power q(w')^power] for weights whose mean product is `mean`."""
    rounding = ROUNDINGS[law](bits)
    half = 2 ** (bits - 1)
    levels = np.arange(1 - 2 * half, 2 * half, 2) * rounding.unit
    if law == "cosine":
        # the difference of angles is normal, and the angle itself uniform
        spread = np.sqrt(-2 * np.log(mean))
        angles = (np.arange(3001) + 0.5) * 2 * np.pi / 3001
        steps = np.linspace(-6, 6, 101)
        shares = np.exp(-np.square(steps) / 2)
        first = rounded(np.sqrt(2) * np.cos(angles), rounding, bits) ** power
        second = rounded(np.sqrt(2) * np.cos(angles + spread * steps[:, None]), rounding, bits)
        return (first * second**power).mean(axis=1) @ shares / shares.sum()
    edges = np.arange(1 - half, half) / rounding.per_unit
    x = np.linspace(-8, 8, 10_001)
    shares = np.exp(-np.square(x) / 2)
    spread = np.sqrt(1 - mean**2)
    below = ndtr((edges[:, None] - mean * x) / spread)
    of_level = np.diff(below, axis=0, prepend=0, append=1)
    second = (levels**power) @ of_level
    return rounded(x, rounding, bits) ** power * second @ shares / shares.sum()


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("law", ROUNDINGS)
@pytest.mark.parametrize("mean", [0.05, 0.6, 0.99])
def test_mean_products(law, bits, mean):
    rounding = ROUNDINGS[law](bits)
    product = moments(law, mean, bits, 1)
    # points of integration cut levels off by half of their distance, 1e-3, up or down
    assert rounding.mean_product(mean) == pytest.approx(product, abs=5e-4)
    assert mean <= rounding.mean_product(mean) <= mean + rounding.excess * mean**3
    assert product * rounding.exact_share(product) == pytest.approx(mean, abs=5e-4)
    assert rounding.mean_product(1.0) == pytest.approx(1 + rounding.excess)
    assert rounding.exact_share(1 + rounding.excess) == pytest.approx(1 / (1 + rounding.excess))


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("law", ROUNDINGS)
@pytest.mark.parametrize("mean", [0.05, 0.6, 0.99])
def test_the_variance_grows_by_its_factor_at_most(law, bits, mean):
    rounding = ROUNDINGS[law](bits)
    exact = 1 + 2 * mean**2 if law == "normal" else 1 + mean**4 / 2
    square, product = moments(law, mean, bits, 2), moments(law, mean, bits, 1)
    share = rounding.exact_share(product)
    variance = share**2 * (square - product**2)
    assert variance <= (exact - mean**2) * (rounding.variance_factor + 0.001)
    assert variance >= 0.85 * (exact - mean**2)  # no more than the clipped tails of normal weights


def test_the_unit_makes_the_first_term_1():
    for bits in BITS:
        rounding = rounded_normal(bits)
        x = np.linspace(-9, 9, 100_001)
        shares = np.exp(-np.square(x) / 2)
        q = rounded(x, rounding, bits)
        assert (q * x) @ shares / shares.sum() == pytest.approx(1, abs=1e-5)
        assert np.square(q) @ shares / shares.sum() == pytest.approx(1 + rounding.excess, abs=1e-4)
