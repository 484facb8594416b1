"""The books: the register, and the file that some of it is kept in."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from cortex_actors.errors import StoreDown
from cortex_actors.federation import describing, overlay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.federation.binding import Binder, Bound
    from cortex_actors.federation.overlay import Overlaid, Overlay
    from cortex_actors.federation.register import Register
    from cortex_actors.federation.spec import StoreSpec

#: How long a change counts: for good, or until the daemon restarts.
KEPT, RESTART = "kept", "restart"


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a change: the answer, and which stores there are now or are no more."""

    answer: dict[str, Any]
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(slots=True)
class Draft:
    """A change that nobody sees yet.

    Attributes:
        entries: what the overlay is to hold.
        kept: stores of the overlay as they are to be.
        tuned: name -> what is to count otherwise of a store of the settings, or what is kept here.

    """

    entries: tuple[object, ...]
    kept: dict[str, StoreSpec] = field(default_factory=dict)
    tuned: dict[str, dict[str, Any]] = field(default_factory=dict)

    def change(self, spec: StoreSpec, how: dict[str, Any]) -> None:
        """Let a store be otherwise: for good, if it is one of the overlay's."""
        if not spec.managed:
            self.tuned[spec.name] = {**self.tuned.get(spec.name, {}), **how}
            return
        self.kept[spec.name] = replace(self.kept.get(spec.name, spec), **how)
        self.entries = overlay.put(self.entries, self.kept[spec.name])

    @property
    def lasts(self) -> str:
        """How long it counts: only as long as the shortest of it."""
        return RESTART if self.tuned else KEPT


class Books:
    """Reads and writes both together. One change at a time, which whoever calls sees to."""

    def __init__(self, register: Register, file: Overlay, binder: Binder) -> None:
        """Keep that register, and that file; stores are made with that binder."""
        self.register = register
        self.binder = binder
        self._file = file

    async def read(self) -> Overlaid:
        """Take in what the overlay holds now: somebody may have mended it by hand.

        A file that was spoilt since it was read last takes nothing away: what is known of it goes
        on, and the next write puts that in its place.
        """
        found = await asyncio.to_thread(self._file.read)
        if not found.is_sound:
            managed = self.register.managed
            known = (*managed, *self.register.shadowed)
            entries = tuple(describing.written(each) for each in known)
            told = tuple(f"{each}; {_meanwhile(managed)}" for each in found.trouble)
            found = replace(found, entries=entries, specs=known, trouble=told)
        self.register.overlay(found)
        return found

    async def write(self, entries: Sequence[object]) -> list[str]:
        """Let the overlay hold these; return what a person is told of it.

        Raises `HomeUnwritable`, and then it is as it was.
        """
        aside = await asyncio.to_thread(self._file.write, entries)
        return [] if aside is None else [f"what was there before is kept as {aside}"]

    async def draft(self) -> Draft:
        """Return a change that begins with what the overlay holds now."""
        return Draft((await self.read()).entries)

    async def follow(self, draft: Draft) -> None:
        """Let a draft count: what is kept is written first. Raises as `write` does."""
        register = self.register
        if draft.kept:
            await self.write(draft.entries)
        register.managed = tuple(draft.kept.get(each.name, each) for each in register.managed)
        register.turn(register.knobs, draft.tuned)

    async def bring(self) -> bool:
        """Let all that is enabled be asked; return whether another try may bring more.

        What cannot be asked as it is described is noted with why; nothing else is changed by it.
        """
        register = self.register
        wanted = {each.name: each for each in register.specs() if each.enabled}
        for name, bound in tuple(register.bound.items()):
            if name not in wanted or not bound.serves(wanted[name]):
                register.let_go(name)
        missing = [each for each in wanted.values() if each.name not in register.bound]
        found = await asyncio.gather(*(self._tried(each) for each in missing))
        register.unbindable = {}
        for spec, each in zip(missing, found, strict=True):
            if isinstance(each, StoreDown):
                register.unbindable[spec.name] = str(each)
            else:
                register.bound[spec.name] = each
        return any(type(each) is StoreDown for each in found)

    async def _tried(self, spec: StoreSpec) -> Bound | StoreDown:
        """Return a store as it can be asked, or why it cannot."""
        try:
            return await self.binder.bind(spec)
        except StoreDown as error:
            return error


def _meanwhile(known: Sequence[StoreSpec]) -> str:
    """Return who is asked while the file cannot be used: who is known from before it was spoilt."""
    if not known:
        return "no store that was added by command is asked meanwhile"
    names = ", ".join(each.name for each in known)
    return f"what was read of it before counts until the daemon restarts: {names}"
