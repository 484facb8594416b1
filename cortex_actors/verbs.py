"""What every part of the front desk has: the parts it was handed, and how to find a project."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from cortex_actors import lookup
from cortex_actors.storage.events import store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cortex_actors.deskparts import Parts
    from cortex_actors.domain.event import Event, Payload
    from cortex_actors.domain.project import Project
    from cortex_actors.storage.ledger.actor import Connection

T = TypeVar("T")

#: What the front desk is called as the source of an event.
SOURCE = "cortex"


class Verbs:
    """Part of the front desk: `FrontDesk` is made of several, and each has the same parts."""

    #: Whom to ask; set once, by `FrontDesk`.
    _parts: Parts

    async def _project(self, path: str) -> Project:
        """Return the followed project that a path, a name or an id means.

        Raises `UnknownProject`.
        """
        return await self._parts.records.read(lambda c: lookup.project(c, path))

    async def _project_id(self, path: str | None) -> str | None:
        """Return the id of a project that may not be meant at all; raises as `_project` does."""
        return None if path is None else (await self._project(path)).id

    async def _change(self, work: Callable[[Connection], T], *said: Event[Payload]) -> T:
        """Change something and say so, all in one transaction; return what the change gave."""
        return await self._change_and_say(lambda connection: (work(connection), said))

    async def _change_and_say(
        self, work: Callable[[Connection], tuple[T, Sequence[Event[Payload]]]]
    ) -> T:
        """Change something and say what the change itself tells, all in one transaction."""

        def unit(connection: Connection) -> tuple[T, list[Event[Payload]]]:
            given, said = work(connection)
            return given, store(connection, list(said))

        given, stored = await self._parts.records.write(unit)
        for each in stored:
            self._parts.bus.announce(each)
        return given
