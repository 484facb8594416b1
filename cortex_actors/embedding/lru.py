"""A mapping of limited size that forgets what was not used for longest."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Lru(Generic[K, V]):
    """Holds at most `entries` values; reading one makes it the newest, whatever its age."""

    def __init__(self, entries: int) -> None:
        self._entries = entries
        self._values: OrderedDict[K, V] = OrderedDict()
        #: Values forgotten for want of room.
        self.evicted = 0

    def get(self, key: K) -> V | None:
        """Return the value and remember that it was used; None when it is not here."""
        if key not in self._values:
            return None
        self._values.move_to_end(key)
        return self._values[key]

    def put(self, key: K, value: V) -> None:
        """Keep a value as the newest one."""
        self._values[key] = value
        self._values.move_to_end(key)
        while len(self._values) > self._entries:
            self._values.popitem(last=False)
            self.evicted += 1

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __len__(self) -> int:
        return len(self._values)
