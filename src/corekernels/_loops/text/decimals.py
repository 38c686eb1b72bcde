"""Decimal numbers in text, read exactly as Python's `float` reads them.

Numbers of up to 15 digits and small exponents are one exact product or quotient (Clinger 1990).
The others go through the product with a 128-bit power of five (Lemire, "Number parsing at a
gigabyte per second", 2021), which is correctly rounded for all that fit in 64 bits. What has
more digits than that is left to `float`.
"""

import numpy as np

from ..compilation import inner_loop, loop
from ..simd.integers import float_from_bits, high_product, leading_zeros, load_word, trailing_zeros

NUMBER, NO_NUMBER, TOO_LONG = range(3)  # what `read_decimal` found

_LEAST_POWER, _LARGEST_POWER = -342, 308  # of ten, beyond which numbers are 0 or infinite
_EXACT_POWERS = 10.0 ** np.arange(23)  # of ten that double precision holds exactly
_ZERO, _DOT, _PLUS, _MINUS, _UPPER_E, _LOWER_E = (np.uint8(ord(c)) for c in "0.+-Ee")
_TEN = np.uint64(10)
_MOST_DIGITS = np.uint64(19)  # that always fit in 64 bits
_TENS = 10 ** np.arange(9, dtype=np.uint64)
_ONE, _EIGHT = np.uint64(1), np.uint64(8)
_LARGEST_EXACT = np.uint64(1 << 53)


def _powers_of_five():
    """The leading 128 bits of each power of five from 5^-342 to 5^308, as two columns of words.

    Reciprocals are rounded up, powers down.
    """
    words = []
    for power in range(_LEAST_POWER, _LARGEST_POWER + 1):
        five = 5 ** abs(power)
        if power < 0:
            n_bits = (five - 1).bit_length()
            shift = n_bits + 127 if power >= -27 else 2 * n_bits + 128
            five = (1 << shift) // five + 1
        excess = five.bit_length() - 128
        five = five >> excess if excess > 0 else five << -excess
        words.append(divmod(five, 1 << 64))
    return np.array(words, np.uint64).T.copy()


_FIVES_HIGH, _FIVES_LOW = _powers_of_five()


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
    high, low = high_product(digits, _FIVES_HIGH[place]), digits * _FIVES_HIGH[place]
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):  # the lower half may carry into these bits
        more = high_product(digits, _FIVES_LOW[place])
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
def read_decimal(text, start):
    """What stands at a place of text: status, value, and where it ends.

    Text must go on after the number, with something that is no part of one and for at least
    eight bytes: digits are read eight at a time. Numbers of up to seven digits before the point
    and sixteen after it are read here, all others digit by digit.
    """
    i = start
    if text[i] == _MINUS or text[i] == _PLUS:
        i += _ONE
    word = load_word(text, i)
    n_read = count_digits(word)
    if n_read == _EIGHT:
        return _read_slowly(text, start)
    digits = number_of(word, n_read) if n_read else np.uint64(0)
    i += n_read
    n_after = np.uint64(0)
    if text[i] == _DOT:
        i += _ONE
        word = load_word(text, i)
        n = count_digits(word)
        if n:
            digits = digits * _TENS[n] + number_of(word, n)
            n_after = n
        if n == _EIGHT:
            word = load_word(text, i + _EIGHT)
            n = count_digits(word)
            n_after += n
            more = np.uint64(text[i + n_after]) - np.uint64(_ZERO)
            if n_read + n_after > _MOST_DIGITS or more <= np.uint64(9):
                return _read_slowly(text, start)
            if n:
                digits = digits * _TENS[n] + number_of(word, n)
        i += n_after
    if n_read + n_after == 0:
        return NO_NUMBER, 0.0, i
    return _with_exponent(text, i, text[start] == _MINUS, digits, -np.int64(n_after))


@inner_loop
def _read_slowly(text, start):
    """The same, digit by digit."""
    i = start
    if text[i] == _MINUS or text[i] == _PLUS:
        i += _ONE
    digits, n_digits, n_read, power = np.uint64(0), 0, 0, np.int64(0)
    inexact, after_dot = False, False
    while True:
        digit = np.uint64(text[i]) - np.uint64(_ZERO)
        if digit <= np.uint64(9):
            n_read += 1
            if n_digits < 19:
                digits = digits * _TEN + digit
                n_digits += digits != 0
                power -= after_dot
            else:
                inexact = inexact or digit != 0
                power += not after_dot
        elif text[i] == _DOT and not after_dot:
            after_dot = True
        else:
            break
        i += _ONE
    if n_read == 0:
        return NO_NUMBER, 0.0, i
    status, value, i = _with_exponent(text, i, text[start] == _MINUS, digits, power)
    return TOO_LONG if inexact and status == NUMBER else status, value, i


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
