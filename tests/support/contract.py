"""The hash contract in plain NumPy, written from `docs/contract.md` alone.

Nothing of the package is imported: where the two differ, the text or the code is wrong. It hashes
one row at a time, without any thought of speed.
"""

import numpy as np
from scipy.linalg import hadamard
from scipy.special import ndtri

POSITION, LOCATION, NUMBER, PERMUTATION, ENTRY, KEYS, PHASE = 0, 1, 3, 4, 5, 6, 7
POSITION_KEY, DIRECTION_KEY, SLOT_KEY, ENTRY_KEY = 0, 1, 5, 6
G = np.uint64(0x9E3779B97F4A7C15)
NARROW = 65_536


def u64(value):
    return np.asarray(value).astype(np.uint64)


def stream(seed, purpose, index, n):
    philox = np.random.Philox(
        key=np.array([seed, purpose], np.uint64), counter=np.array([0, 0, index, 0], np.uint64)
    )
    return philox.random_raw(n)


def permutation(seed, purpose, index, n):
    return np.argsort(stream(seed, purpose, index, n), kind="stable")


def inverse(order):
    out = np.empty(len(order), np.int64)
    out[order] = np.arange(len(order))
    return out


def mix(z):
    with np.errstate(over="ignore"):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def step(z, j):
    with np.errstate(over="ignore"):
        return mix(u64(z) + (u64(j) + np.uint64(1)) * G)


def key(seed, use, bank=0):
    return stream(seed, KEYS, bank, 7)[use]


def mixed(seed, use, columns, bank=0):
    return mix(u64(columns) ^ key(seed, use, bank))


def bank_width(k, most):
    width = -(-k // -(-k // most))
    return min(most, -(-width // 64) * 64)


def banks(k, most):
    """First slot and number of slots of each bank."""
    width = bank_width(k, most)
    return [(first, min(width, k - first)) for first in range(0, k, width)]


def lowest(values):
    """The minimum of each column of an array, and the last row that has it."""
    n = len(values)
    return values.min(axis=0), n - 1 - np.argmin(values[::-1], axis=0)


def circulant_narrow(recipe, columns):
    seed, D, k = recipe["seed"], recipe["n_columns"], recipe["n_hashes"]
    locations, behind = np.empty(k, np.int64), np.empty(k, np.int64)
    for bank, (first, n) in enumerate(banks(k, D)):
        sigma = permutation(seed, POSITION, bank, D)
        pi = inverse(permutation(seed, LOCATION, bank, D))
        values = pi[(sigma[columns][:, None] + np.arange(n)) % D]
        locations[first : first + n], behind[first : first + n] = lowest(values)
    return locations, behind


def circulant_wide(recipe, columns, bits):
    """Columns fall into bins; of equal locations, the bits of core2's weights decide.

    Equal ranks, of which one in millions of pairs is, are not looked at.
    """
    seed, k, M = recipe["seed"], recipe["n_hashes"], 1 << 14
    width = bank_width(k, 512)
    half = width // 2
    kappa = inverse(permutation(seed, LOCATION, 0, M))
    pi = 4 * kappa + (stream(seed, LOCATION, 1, M) >> np.uint64(62)).astype(np.int64)
    locations, behind = np.empty(k, np.int64), np.empty(k, np.int64)
    for bank, (first, n) in enumerate(banks(k, 512)):
        z = mixed(seed, POSITION_KEY, columns, bank)
        s = (z >> np.uint64(54)).astype(np.int64)
        o = ((z >> np.uint64(40)) & np.uint64(2**14 - 1)).astype(np.int64)
        rank = (z & np.uint64(2**32 - 1)).astype(np.int64)
        j = np.arange(n)
        values = (pi[(16 * s[:, None] + j % half) % M] + 4 * o[:, None]) % 2**16
        words = values * 2**16 + bits[:, None]
        last = np.where(j < half, words.argmin(axis=0), words.argmax(axis=0))
        found = np.take_along_axis(values, last[None], axis=0)[0]
        found = np.where(j < half, found, 2**16 - 1 - found)
        has_rank = (rank * width >> 32)[:, None] == j
        for j in np.flatnonzero(has_rank.any(axis=0)):
            ranked = np.flatnonzero(has_rank[:, j])
            last[j] = ranked[np.argmin(rank[ranked])]
            found[j] = rank[last[j]] % 2**16
        locations[first : first + n], behind[first : first + n] = found, last
    return locations, behind


def independent(recipe, columns):
    seed, D, k = recipe["seed"], recipe["n_columns"], recipe["n_hashes"]
    if has_tables(recipe):
        tables = np.array([permutation(seed, PERMUTATION, j, D) for j in range(k)])
        return lowest(tables[:, columns].T)
    values = step(mixed(seed, SLOT_KEY, columns)[:, None], np.arange(k))
    found, behind = lowest(values)
    return (found >> np.uint64(32)).astype(np.int64), behind


def has_tables(recipe):
    D = recipe["n_columns"]
    return D <= NARROW and D * recipe["n_hashes"] <= 2**22


def find_locations(recipe, columns, bits):
    if recipe["scheme"] == "independent":
        return independent(recipe, columns)
    if recipe["n_columns"] <= NARROW:
        return circulant_narrow(recipe, columns)
    return circulant_wide(recipe, columns, bits)


def numbers():
    n = 1 << 16
    quantiles = ndtri((np.arange(n) + 0.5) / n)
    scaled = (quantiles / np.sqrt(np.mean(quantiles**2))).astype(np.float32)
    bits = scaled.view(np.uint32).astype(np.int64)
    upper, rest = bits >> 16, bits & 0xFFFF
    upper += (rest > 0x8000) | ((rest == 0x8000) & (upper & 1 == 1))
    return (upper << 16).astype(np.uint32).view(np.float32).astype(np.float64)


def directions(recipe, columns):
    """Random numbers of each column (row) and slot (column)."""
    seed, D, k = recipe["seed"], recipe["n_columns"], recipe["n_hashes"]
    if recipe["scheme"] == "circulant":
        return rotated(seed, columns, k)
    if has_tables(recipe):
        entries = np.array([stream(seed, ENTRY, j, D)[columns] for j in range(k)]).T
    else:
        entries = step(mixed(seed, ENTRY_KEY, columns)[:, None], np.arange(k))
    return numbers()[(entries >> np.uint64(48)).astype(np.int64)]


def rotated(seed, columns, k):
    """Random numbers of rotations: the lists of a bank, in an order and with a sign per column."""
    H = hadamard(512).astype(np.float64)
    words = np.array([0, 0x6AC0, 0xAC60, 0x36A0])
    t = np.where(words[:, None] >> np.arange(512) % 16 & 1, -1, 1)
    out = np.empty((len(columns), k))
    for bank in range(-(-k // 512)):
        z = mixed(seed, DIRECTION_KEY, columns, bank)
        bucket, b = (z >> np.uint64(55)).astype(np.int64), (z >> np.uint64(53)).astype(np.int64) % 4
        minus = (z >> np.uint64(52)).astype(np.int64) % 2
        s = np.where(stream(seed, NUMBER, bank, 512) >> np.uint64(63), -1, 1)
        g = (s * t) @ H / np.sqrt(512)
        j = np.arange(min(512, k - 512 * bank))
        out[:, 512 * bank + j] = (
            np.where(minus, -1, 1)[:, None] * g[b[:, None], j ^ bucket[:, None]]
        )
    return out


def cosines(projections, recipe):
    phases = (stream(recipe["seed"], PHASE, 0, len(projections)) >> np.uint64(40)) / 2**24
    t = projections * np.sqrt(recipe["gamma"]) / (2 * np.pi) + phases
    q = 0.25 - np.abs(t - np.rint(t))
    c = np.array([8.885766, -58.465965, 115.40333, -108.30213, 56.228886], np.float32)
    x = q * q
    return q * (c[0] + x * (c[1] + x * (c[2] + x * (c[3] + x * c[4]))))


def levels(recipe, weights):
    """Levels of weights of few bits, which are halves first."""
    bits = recipe["weight_bits"]
    per_unit = {"core1": {4: 3, 8: 32}, "core_rbf": {4: 45 / 8, 8: 90}}[recipe["kernel"]][bits]
    halves = weights.astype(np.float16).astype(np.float64)
    n = 2 ** (bits - 1)
    return np.clip(np.floor(per_unit * halves), -n, n - 1).astype(np.int64)


def hash_row(recipe, columns, values):
    """Codes and weights of one row: its columns, ascending, and their values.

    Weights are halves; those of core1 and core_rbf are exact sums, or cosines of them, which any
    implementation may miss by the rounding of its own.
    """
    k = recipe["n_hashes"]
    if len(columns) == 0:
        return np.zeros(k, np.int64), np.zeros(k)
    values = np.asarray(values, np.float64)
    unit = (values / np.sqrt(np.sum(values**2))).astype(np.float32)
    halves = value_weights(unit)
    locations, behind = find_locations(recipe, columns, halves.view(np.uint16).astype(np.int64))
    codes = locations if recipe["n_bits"] is None else locations % 2 ** recipe["n_bits"]
    if recipe["kernel"] == "resemblance":
        return codes, np.ones(k)
    if recipe["kernel"] == "core1":
        return codes, unit.astype(np.float64) @ directions(recipe, columns)
    if recipe["kernel"] == "core_rbf":
        projections = unit.astype(np.float64) @ directions(recipe, columns)
        return codes, cosines(projections, recipe)
    return codes, halves[behind]


def value_weights(unit):
    """Weights of core2 for each column of a unit row."""
    scaled = unit * np.sqrt(np.float32(len(unit)))  # single precision
    halves = scaled.astype(np.float16)
    return np.where(halves == 0, np.copysign(np.float16(2**-24), halves), halves)
