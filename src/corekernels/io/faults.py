"""Records that cannot be used: what is wrong with them, and how many may be left out."""

import itertools
from collections.abc import Callable, Iterable

from ..errors import DataError

_NAMED = 10  # in a note


class BadRecords(Exception):
    """Records that cannot be used, by their places among those at hand, and why not."""

    TOGETHER = 1000  # faults to look for at a time: in another kind of text, every record is bad

    def __init__(self, faults: dict[int, str]) -> None:
        super().__init__(faults)
        self.faults = faults

    @classmethod
    def at(cls, places: Iterable[int], fault: str) -> "BadRecords":
        """Records that have the same fault."""
        first = itertools.islice(places, cls.TOGETHER)
        return cls({int(place): fault for place in first})

    def error(self, where: Callable[[int], str], place: int | None = None) -> DataError:
        """The error about the first of them, or another; `where` names the record at a place."""
        place = min(self.faults) if place is None else place
        return DataError(f"{where(place)} {self.faults[place]}.")


class LeftOut:
    """Bad records that a job leaves out, up to a number of them; none if that is 0."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.errors: dict[int, DataError] = {}  # by the number of the record

    def add(self, number: int, error: DataError) -> None:
        """Leave a record out; raises the error if there are too many."""
        if not self.most:
            raise error
        self.errors[number] = error
        if len(self.errors) > self.most:
            raise DataError(
                f"{error} More than skip_bad={self.most} records are bad; mend them, or allow more."
            )

    @property
    def notes(self) -> list[str]:
        """How many records were left out, and why the first ones were."""
        if not self.errors:
            return []
        n = len(self.errors)
        named = [str(self.errors[number]) for number in sorted(self.errors)[:_NAMED]]
        more = [f"and {n - _NAMED:,} more"] if n > _NAMED else []
        return [f"{n:,} bad record{'s were' if n > 1 else ' was'} left out", *named, *more]
