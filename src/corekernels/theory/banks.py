"""How slots are shared among banks, and the averages over slots that their dependence needs."""

BANK_STEP = 64  # what the width of a bank is a multiple of, where that fits; part of the contract


def share_slots(n_slots: int, most: int) -> tuple[int, int]:
    """Number of banks among which the slots are shared, at most `most` each, and their width.

    Banks are equally wide but for the last, and a multiple of 64 slots where that fits.

    >>> share_slots(1024, 512), share_slots(600, 512), share_slots(100, 30)
    ((2, 512), (2, 320), (4, 30))
    """
    width = -(-n_slots // -(-n_slots // most))
    width = min(most, -(-width // BANK_STEP) * BANK_STEP)
    return -(-n_slots // width), width


def slots_per_bank(n_slots: int, most: int) -> float:
    """Slots in the bank of a slot, itself included, on average over the slots.

    >>> slots_per_bank(1024, 512)
    512.0
    """
    n_full, width, last = _full_and_last(n_slots, most)
    return (n_full * width + last**2) / n_slots


def positions_per_bank(n_slots: int, most: int) -> tuple[float, float]:
    """The same of positions that serve two slots each, the width's first half and its second.

    And the share of slots that are one of two at their position.

    >>> positions_per_bank(512, 512), positions_per_bank(200, 512)
    ((256.0, 1.0), (128.0, 0.72))
    """
    n_full, width, last = _full_and_last(n_slots, most)
    half = width // 2
    positions = (n_full * half + last * min(last, half)) / n_slots
    return positions, (n_full + 2 * max(last - half, 0)) / n_slots


def _full_and_last(n_slots: int, most: int) -> tuple[int, int, int]:
    """Slots in all banks but the last, the width of these, and slots in the last."""
    n_banks, width = share_slots(n_slots, most)
    n_full = (n_banks - 1) * width
    return n_full, width, n_slots - n_full
