"""Numbers as text: the fewest digits that are read back as the same number, as Python writes them.

The digits are found by Schubfach (Giulietti, "The Schubfach way to render doubles", 2020), with
128-bit powers of ten.
"""

import numpy as np

from ..compilation import inner_loop, loop
from ..simd.integers import bits_from_float, high_product

MOST_BYTES = 25  # that one number takes

_LEAST_POWER, _LARGEST_POWER = -292, 324
_ZERO, _DOT, _MINUS, _PLUS, _E = (np.uint8(ord(c)) for c in "0.-+e")
_TEN, _HUNDRED = np.uint64(10), np.uint64(100)
_TENS = 10 ** np.arange(20, dtype=np.uint64)
_PAIRS = np.frombuffer("".join(f"{n:02}" for n in range(100)).encode(), np.uint8)


def _powers_of_ten():
    """The leading 128 bits of each power of ten, rounded up, as two columns of words."""
    words = []
    for power in range(_LEAST_POWER, _LARGEST_POWER + 1):
        if power >= 0:
            excess = (10**power).bit_length() - 128
            value = -(-(10**power) >> excess) if excess > 0 else 10**power << -excess
        else:
            ten = 10**-power
            shift = ten.bit_length() + 127
            value = -(-(1 << shift) // ten)
            value = value if value >> 128 == 0 else -(-(1 << (shift - 1)) // ten)
        words.append(divmod(value, 1 << 64))
    return np.array(words, np.uint64).T.copy()


_TENS_HIGH, _TENS_LOW = _powers_of_ten()


@loop(inline="always")
def _scaled(place, number):
    """The number times a power of ten over 2^127, with the last bit set unless it is exact."""
    high, low = _TENS_HIGH[place], _TENS_LOW[place]
    middle = high_product(low, number)
    below = high * number
    carried = below + middle
    above = high_product(high, number) + np.uint64(carried < below)
    return above | np.uint64(carried > np.uint64(1))


@inner_loop
def shortest_digits(bits):
    """Digits and power of ten of a positive finite double, given by its bits."""
    fraction = bits & np.uint64((1 << 52) - 1)
    exponent = np.int64(bits >> np.uint64(52)) & 0x7FF
    c, q = fraction, np.int64(-1074)
    if exponent != 0:
        c, q = fraction | np.uint64(1 << 52), exponent - 1075
        if -52 <= q <= 0 and c & ((np.uint64(1) << np.uint64(-q)) - np.uint64(1)) == 0:
            return c >> np.uint64(-q), 0  # a whole number below 2^53
    is_odd = c & np.uint64(1)
    closer = fraction == 0 and exponent > 1  # the next number below is half as far away
    k = (q * 1262611 - (524031 if closer else 0)) >> 22
    h = np.uint64(q + ((-k * 1741647) >> 19) + 1)
    place = np.uint64(-k - _LEAST_POWER)
    middle = _scaled(place, (c << np.uint64(2)) << h)
    left = np.uint64(1 if closer else 2)
    lower = _scaled(place, ((c << np.uint64(2)) - left) << h) + is_odd
    upper = _scaled(place, ((c << np.uint64(2)) + np.uint64(2)) << h) - is_odd
    s = middle >> np.uint64(2)
    if s >= _TEN:
        tens = s // _TEN
        down = lower <= np.uint64(40) * tens
        up = np.uint64(40) * tens + np.uint64(40) <= upper
        if down != up:
            return tens + np.uint64(up), k + 1
    down = lower <= s << np.uint64(2)
    up = (s << np.uint64(2)) + np.uint64(4) <= upper
    if down != up:
        return s + np.uint64(up), k
    half = (s << np.uint64(2)) + np.uint64(2)
    round_up = middle > half or (middle == half and s & np.uint64(1) == np.uint64(1))
    return s + np.uint64(round_up), k


@loop(inline="always")
def count_digits(number):
    """Number of digits of an unsigned integer below 10^19."""
    n = 1
    while n < 19 and number >= _TENS[n]:
        n += 1
    return n


@inner_loop
def write_integer(number, out, i):
    """Write an unsigned integer from place i on; gives where it ends."""
    end = i + count_digits(number)
    p = end
    while number >= _HUNDRED:
        rest = number // _HUNDRED
        two = (number - rest * _HUNDRED) << np.uint64(1)
        p -= 2
        out[p], out[p + 1] = _PAIRS[two], _PAIRS[two + np.uint64(1)]
        number = rest
    if number >= _TEN:
        two = number << np.uint64(1)
        out[i], out[i + 1] = _PAIRS[two], _PAIRS[two + np.uint64(1)]
    else:
        out[i] = _ZERO + np.uint8(number)
    return end


@inner_loop
def write_number(value, out, i):
    """Write a finite number as Python's repr does, but 3 for 3.0; gives where it ends."""
    bits = bits_from_float(value)
    if bits >> np.uint64(63):
        out[i] = _MINUS
        i += 1
        bits &= np.uint64((1 << 63) - 1)
    if bits == 0:
        out[i] = _ZERO
        return i + 1
    digits, power = shortest_digits(bits)
    for n in (8, 4, 2, 1):  # a number has up to 16 zeros at its end
        for _ in range(2):
            rest = digits // _TENS[n]
            if rest * _TENS[n] == digits:
                digits, power = rest, power + n
    n_digits = count_digits(digits)
    point = n_digits + power  # digits before the point
    if -4 < point <= 16:
        if point <= 0:  # 0.00123
            out[i], out[i + 1] = _ZERO, _DOT
            out[i + 2 : i + 2 - point] = _ZERO
            return write_integer(digits, out, i + 2 - point)
        if power >= 0:  # 12300
            i = write_integer(digits, out, i)
            out[i : i + power] = _ZERO
            return i + power
        end = write_integer(digits, out, i)  # 12.3
        for p in range(end, i + point, -1):
            out[p] = out[p - 1]
        out[i + point] = _DOT
        return end + 1
    end = write_integer(digits, out, i)  # 1.23e-05
    if n_digits > 1:
        for p in range(end, i + 1, -1):
            out[p] = out[p - 1]
        out[i + 1] = _DOT
        end += 1
    exponent = point - 1
    out[end] = _E
    out[end + 1] = _MINUS if exponent < 0 else _PLUS
    end += 2
    if abs(exponent) < 10:
        out[end] = _ZERO
        end += 1
    return write_integer(np.uint64(abs(exponent)), out, end)
