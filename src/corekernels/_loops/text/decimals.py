"""Decimal numbers in text, read and written exactly as Python's `float` and `repr` do.

Numbers of up to 15 digits and small exponents are one exact product or quotient (Clinger 1990).
The others go through the product with a 128-bit power of ten (Lemire, "Number parsing at a
gigabyte per second", 2021), which is correctly rounded for up to 19 digits. Numbers of more
digits are left to `float`.

What is written are the fewest digits that are read back as the same number. They are found by
Schubfach (Giulietti, "The Schubfach way to render doubles", 2020), with the same powers.
"""

import numpy as np

from ..compilation import inner_loop, loop
from ..simd.integers import (
    bits_from_float,
    float_from_bits,
    high_product,
    leading_zeros,
    load_word,
    trailing_zeros,
)

NUMBER, NO_NUMBER, TOO_LONG = range(3)  # what `read_decimal` found

_LEAST_POWER, _LARGEST_POWER = -342, 324  # of ten; numbers beyond are 0 or infinite
_EXACT_POWERS = 10.0 ** np.arange(23)  # of ten that double precision holds exactly
_ZERO, _DOT, _PLUS, _MINUS, _UPPER_E, _LOWER_E = (np.uint8(ord(c)) for c in "0.+-Ee")
_TEN = np.uint64(10)
_MOST_DIGITS = np.uint64(19)  # that always fit in 64 bits
_HUNDRED = np.uint64(100)
_TENS = 10 ** np.arange(20, dtype=np.uint64)
_ONE, _EIGHT = np.uint64(1), np.uint64(8)
_LARGEST_EXACT = np.uint64(1 << 53)


def _powers_of_ten(rounded_up):
    """The leading 128 bits of each power of ten, as two columns of words.

    Those that have more bits are rounded up, or down but for reciprocals of small powers.
    """
    words = []
    for power in range(_LEAST_POWER, _LARGEST_POWER + 1):
        five = 5 ** abs(power)  # ten without its powers of two
        if power < 0:
            bits, rest = divmod(1 << five.bit_length() + 127, five)
        else:
            excess = max(0, five.bit_length() - 128)
            bits, rest = five >> excess, five & (1 << excess) - 1
            bits <<= max(0, 128 - five.bit_length())
        bits += rest > 0 and (rounded_up or -27 <= power < 0)
        words.append(divmod(bits, 1 << 64))
    return np.array(words, np.uint64).T.copy()


_DOWN_HIGH, _DOWN_LOW = _powers_of_ten(rounded_up=False)
_UP_HIGH, _UP_LOW = _powers_of_ten(rounded_up=True)


@inner_loop
def nearest_double(digits, power):
    """The double nearest to digits * 10^power, ties to even; infinity where it is too large."""
    if digits == 0 or power < _LEAST_POWER:
        return 0.0
    if power > _LARGEST_POWER:
        return np.inf
    zeros = leading_zeros(digits)
    digits = digits << zeros
    place = np.uint64(power - _LEAST_POWER)
    high, low = high_product(digits, _DOWN_HIGH[place]), digits * _DOWN_HIGH[place]
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):  # the lower half may carry into these bits
        more = high_product(digits, _DOWN_LOW[place])
        low += more
        high += np.uint64(low < more)
    upper = high >> np.uint64(63)
    shift = upper + np.uint64(9)
    mantissa = high >> shift  # 53 bits and one to round by
    exponent = ((217706 * power) >> 16) + 63 + np.int64(upper) - np.int64(zeros) + 1023
    if exponent <= 0:  # subnormal
        if exponent <= -63:
            return 0.0
        mantissa = mantissa >> np.uint64(1 - exponent)
        mantissa = (mantissa + (mantissa & np.uint64(1))) >> np.uint64(1)
        return float_from_bits(mantissa)
    halfway = low <= np.uint64(1) and -4 <= power <= 23 and mantissa & np.uint64(3) == np.uint64(1)
    if halfway and mantissa << shift == high:
        mantissa &= ~np.uint64(1)  # an exact tie: to even
    mantissa = (mantissa + (mantissa & np.uint64(1))) >> np.uint64(1)
    if mantissa >= np.uint64(1 << 53):
        mantissa = np.uint64(1 << 52)
        exponent += 1
    if exponent >= 0x7FF:
        return np.inf
    bits = (np.uint64(exponent) << np.uint64(52)) | (mantissa & np.uint64((1 << 52) - 1))
    return float_from_bits(bits)


@loop(inline="always")
def count_digits(word):
    """How many of eight bytes, from the lowest on, are digits before one that is not."""
    above = word + np.uint64(0x4646464646464646)
    below = word - np.uint64(0x3030303030303030)
    return trailing_zeros((above | below) & np.uint64(0x8080808080808080)) >> np.uint64(3)


@loop(inline="always")
def number_of(word, n_digits):
    """The number that the first digits of eight bytes make; there must be at least one."""
    word = (word - np.uint64(0x3030303030303030)) << (np.uint64(64) - (n_digits << np.uint64(3)))
    word = word * _TEN + (word >> np.uint64(8))  # pairs of digits, in every other byte
    upper = (word & np.uint64(0x000000FF000000FF)) * np.uint64(0x000F424000000064)
    word = (word >> np.uint64(16)) & np.uint64(0x000000FF000000FF)
    return (upper + word * np.uint64(0x0000271000000001)) >> np.uint64(32)


@inner_loop
def read_digits(text, i, digits):
    """The number that `digits` and those from i on make, where they end, and if it is below 10^19.

    Text must go on for at least eight bytes: digits are read eight at a time.
    """
    while True:
        word = load_word(text, i)
        n = count_digits(word)
        if digits >= _TENS[_MOST_DIGITS - n]:
            return digits, i, False
        if n:
            digits = digits * _TENS[n] + number_of(word, n)
            i += n
        if n < _EIGHT:
            return digits, i, True


@inner_loop
def read_decimal(text, start):
    """What stands at a place of text: status, value, and where it ends.

    Text must go on after the number, with something that is no part of one. Of a number that is
    TOO_LONG not all is read.
    """
    i = start
    if text[i] == _MINUS or text[i] == _PLUS:
        i += _ONE
    first = i
    digits, i, fits = read_digits(text, i, np.uint64(0))
    n_digits, power = i - first, np.int64(0)
    if fits and text[i] == _DOT:
        point = i + _ONE
        digits, i, fits = read_digits(text, point, digits)
        n_digits += i - point
        power -= np.int64(i - point)
    if not fits:
        return TOO_LONG, 0.0, i
    if n_digits == 0:
        return NO_NUMBER, 0.0, i
    return _with_exponent(text, i, text[start] == _MINUS, digits, power)


@loop(inline="always")
def _with_exponent(text, i, negative, digits, power):
    """The number digits * 10^power, after what may follow it as an exponent."""
    if text[i] == _LOWER_E or text[i] == _UPPER_E:
        i += _ONE
        below = text[i] == _MINUS
        if below or text[i] == _PLUS:
            i += _ONE
        first, exponent = i, np.int64(0)
        while True:
            digit = np.uint64(text[i]) - np.uint64(_ZERO)
            if digit > np.uint64(9):
                break
            i += _ONE
            if exponent < 100_000:
                exponent = exponent * 10 + np.int64(digit)
        if i == first:
            return NO_NUMBER, 0.0, i
        power += -exponent if below else exponent
    if digits <= _LARGEST_EXACT and -22 <= power <= 22:
        value = np.float64(digits)
        value = (
            value / _EXACT_POWERS[np.uint64(-power)]
            if power < 0
            else value * _EXACT_POWERS[np.uint64(power)]
        )
    else:
        value = nearest_double(digits, power)
    return NUMBER, -value if negative else value, i


MOST_BYTES = 25  # that one number takes when written
_PAIRS = np.frombuffer("".join(f"{n:02}" for n in range(100)).encode(), np.uint8)


@loop(inline="always")
def _scaled(place, number):
    """The number times a power of ten over 2^127, with the last bit set unless it is exact."""
    high, low = _UP_HIGH[place], _UP_LOW[place]
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
def number_of_digits(number):
    """Number of digits of an unsigned integer below 10^19."""
    n = 1
    while n < 19 and number >= _TENS[n]:
        n += 1
    return n


@inner_loop
def write_integer(number, out, i):
    """Write an unsigned integer from place i on; gives where it ends."""
    end = i + number_of_digits(number)
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
    n_digits = number_of_digits(digits)
    point = n_digits + power  # digits before the point
    is_plain = -4 < point <= 16
    if is_plain and point <= 0:  # 0.00123
        out[i], out[i + 1] = _ZERO, _DOT
        out[i + 2 : i + 2 - point] = _ZERO
        return write_integer(digits, out, i + 2 - point)
    end = write_integer(digits, out, i)
    if is_plain and power >= 0:  # 12300
        out[end : end + power] = _ZERO
        return end + power
    n_before = point if is_plain else 1
    if n_digits > n_before:
        for p in range(end, i + n_before, -1):
            out[p] = out[p - 1]
        out[i + n_before] = _DOT
        end += 1
    if is_plain:  # 12.3
        return end
    exponent = point - 1  # 1.23e-05
    out[end] = _LOWER_E
    out[end + 1] = _MINUS if exponent < 0 else _PLUS
    end += 2
    if abs(exponent) < 10:
        out[end] = _ZERO
        end += 1
    return write_integer(np.uint64(abs(exponent)), out, end)
