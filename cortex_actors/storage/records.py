"""The way to the ledger for everybody else: by name, so that its restart breaks nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

# Whoever writes a unit of work names its parameter's type, and imports no database library.
from cortex_actors.storage.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from sqlalchemy import Connection as Connection  # noqa: PLC0414 - for whoever writes units

    from cortex_actors.runtime.names import Names

T = TypeVar("T")

#: A generic method behind a name: what comes back is typed again below.
_Run: TypeAlias = "Callable[..., Coroutine[Any, Any, Any]]"

#: What the ledger's actor is called.
NAME = "ledger"

#: Seconds a unit of work may take before its caller is told; it may still commit afterwards.
TIMEOUT = 30.0


class Records:
    """Runs units of work and queries in whichever ledger actor is alive."""

    def __init__(self, names: Names, *, timeout: float = TIMEOUT) -> None:
        """Find the ledger by its name; calls take at most `timeout` seconds."""
        self._write: _Run = names.method(NAME, Ledger.write, timeout=timeout)
        self._read: _Run = names.method(NAME, Ledger.read, timeout=timeout)

    async def write(self, unit: Callable[[Connection], T], *, vital: bool = False) -> T:
        """Run a unit of work; return its value after the commit. See `Ledger.write`."""
        return cast("T", await self._write(unit, vital=vital))

    async def read(self, query: Callable[[Connection], T]) -> T:
        """Run a query; return its value. See `Ledger.read`."""
        return cast("T", await self._read(query))
