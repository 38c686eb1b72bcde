"""Where the ticks of a small panel stand, and what they say."""

import math
from collections.abc import Iterable
from typing import Any

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def set_ticks(axis: Any, values: Iterable[float], n: int) -> None:
    """Give a matplotlib axis about `n` ticks with short labels; few numbers, all of them round."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    axis.set_minor_locator(NullLocator())
    if axis.get_scale() == "linear":
        axis.set_major_locator(MaxNLocator(n, steps=[1, 2, 2.5, 5, 10]))
        return
    low, high = axis.get_view_interval()
    decades = math.log10(high / low) if 0 < low < high else 1.0
    if decades < 0.5:
        axis.set_major_locator(MaxNLocator(n))
    elif all(_is_power_of_two(value) for value in values):
        axis.set_major_locator(LogLocator(base=2, numticks=n + 1))
    else:
        subs = (1.0,) if decades > 2.5 else (1.0, 2.0, 5.0) if decades > 1 else (1.0, 2.0, 3.0, 5.0)
        axis.set_major_locator(LogLocator(subs=subs, numticks=n + 2))
    axis.set_major_formatter(FuncFormatter(lambda value, _: log_label(value)))


def log_label(value: float) -> str:
    """A tick of a logarithmic axis, without the mathematics that SVG text cannot set.

    >>> log_label(0.01), log_label(2048.0), log_label(1e-6), log_label(2e6)
    ('0.01', '2048', '10⁻⁶', '2×10⁶')
    """
    if 1e-3 <= value < 1e5:
        return f"{value:.6g}"
    mantissa, exponent = f"{value:.3e}".split("e")
    power = "10" + str(int(exponent)).translate(_SUPERSCRIPTS)
    return power if float(mantissa) == 1 else f"{float(mantissa):g}×{power}"


def same_decimals(values: Iterable[float]) -> list[str]:
    """Numbers of at most four digits, all with the decimals that one of them needs.

    >>> same_decimals([97.0, 96.25, 8.0])
    ['97.00', '96.25', '8.00']
    """
    short = [f"{value:.4g}" for value in values]
    if any("e" in text for text in short):
        return short
    decimals = max((len(text.partition(".")[2]) for text in short), default=0)
    return [f"{float(text):.{decimals}f}" for text in short]


def _is_power_of_two(value: float) -> bool:
    return value > 0 and math.frexp(value)[0] == 0.5
