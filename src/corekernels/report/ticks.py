"""Where the ticks of a small panel stand, and what they say."""

import math
from collections.abc import Iterable
from typing import Any

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def set_ticks(axis: Any, values: Iterable[float], n: int) -> None:
    """Give a matplotlib axis about `n` ticks with short labels; few numbers, all of them round."""
    from matplotlib.ticker import (
        FuncFormatter,
        LogLocator,
        MaxNLocator,
        NullLocator,
        ScalarFormatter,
    )

    axis.set_minor_locator(NullLocator())
    low, high = axis.get_view_interval()
    if axis.get_scale() == "linear":
        axis.set_major_locator(MaxNLocator(n, steps=[1, 2, 2.5, 5, 10]))
        if 1e-3 <= max(abs(low), abs(high)) < 1e5:
            # each tick says its whole value: no common factor or summand in a corner
            plain = ScalarFormatter(useOffset=False)
            plain.set_scientific(False)
            axis.set_major_formatter(plain)
        else:
            axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
        return
    decades = math.log10(high / low) if 0 < low < high else 1.0
    if decades < 0.5:
        axis.set_major_locator(MaxNLocator(n))
    elif all(_is_power_of_two(value) for value in values):
        axis.set_major_locator(LogLocator(base=2, numticks=n + 1))
    else:
        subs = (1.0,) if decades > 2.5 else (1.0, 2.0, 5.0) if decades > 1 else (1.0, 2.0, 3.0, 5.0)
        axis.set_major_locator(LogLocator(subs=subs, numticks=n + 2))
    axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))


def short(value: float) -> str:
    """A number in few letters, without the mathematics that SVG text cannot set.

    >>> short(0.01), short(2048.0), short(1e5), short(16384.0), short(-2e-6)
    ('0.01', '2048', '10⁵', '16384', '−2×10⁻⁶')
    """
    if value < 0:
        return "−" + short(-value)
    mantissa, exponent = f"{value:.3e}".split("e")
    is_power = float(mantissa) == 1
    if value == 0 or 1e-3 <= value < (1e4 if is_power else 1e6):
        return f"{value:.6g}"
    power = "10" + str(int(exponent)).translate(_SUPERSCRIPTS)
    return power if is_power else f"{float(mantissa):g}×{power}"


def same_decimals(values: Iterable[float]) -> list[str]:
    """Numbers of at most four digits, all with the decimals that one of them needs.

    >>> same_decimals([97.0, 96.25, 8.0])
    ['97.00', '96.25', '8.00']
    """
    rounded = [float(f"{value:.4g}") for value in values]
    texts = [f"{value:.4g}" for value in rounded]
    if any("e" in text for text in texts):
        return [short(value) for value in rounded]
    decimals = max((len(text.partition(".")[2]) for text in texts), default=0)
    return [f"{value:.{decimals}f}".replace("-", "−") for value in rounded]


def _is_power_of_two(value: float) -> bool:
    return value > 0 and math.frexp(value)[0] == 0.5
