"""Progress of long calls: a bar on standard error.

Every call that may take long has an argument `progress`: None shows a bar where standard error
is a terminal, True always, False never.
"""

from typing import Any

from tqdm import tqdm


def progress_bar(
    total: float | None, what: str, unit: str, progress: bool | None, **options: Any
) -> Any:
    """A bar to be used in a `with` block: `update(n)`, `set_description(what)`.

    Parameters
    ----------
    total : number or None
        Of the units to do; None where it is not known.
    what : str
        What is being done.
    unit : str
        What is counted.
    progress : bool or None
        Whether to show the bar, as above.
    """
    hidden = None if progress is None else not progress
    return tqdm(total=total, desc=what, unit=f" {unit}", disable=hidden, leave=False, **options)
