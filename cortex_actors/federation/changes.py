"""How stores come and go while the daemon runs: added, removed, taken in from a Callosum's file.

What lasts is written before it counts. A token that was given is put into the keyring before the
description that names it is written, and taken out again when that fails; a crash in between leaves
an entry of ours that nothing names.

What is turned while the daemon runs: whom a question asks, what they count, how the fan is set.

Everything is checked before anything is done: a method that raises has changed nothing.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cortex_actors.errors import BadInput, Refused, StoreDown, StoreUnusable
from cortex_actors.federation import callosum, registry, schema
from cortex_actors.federation.registry import (
    RESTART,
    Overlaid,
    Overlay,
    Register,
    StoreChange,
    StoreDraft,
)
from cortex_actors.federation.store import LOCAL, Auth, StoreSpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cortex_actors.federation.binding import Binder, Bound


#: Why a store of the settings cannot be removed by command, and what removes it.
_LASTING = (
    "it is a store of cortex.toml; take its [[federation.stores]] out of that file and run "
    "cortex daemon reload, or turn it off: cortex stores disable"
)

#: Stores there may be: a question asks all of them at once.
MOST = 200


@dataclass(slots=True)
class _Newcomer:
    """A store that is about to be known, and what a person reads of it."""

    spec: StoreSpec
    bound: Bound
    resolves: dict[str, str]
    warnings: list[str]


#: What `configure` calls the list of stores among what is turned.
STORES = "stores"

#: What of a store may be turned by `configure`.
_TUNED = ("weight", "floor")


class StoreChanges:
    """Takes stores in and lets them go, and turns what may be turned.

    It reads and writes the register and the file that some of it is kept in, both together. One
    change at a time, which the caller sees to.
    """

    def __init__(self, register: Register, file: Overlay, binder: Binder) -> None:
        """Keep that register, and that file; stores are made with that binder."""
        self.register = register
        self.binder = binder
        self._file = file

    async def add(self, spec: StoreSpec) -> StoreChange:
        """Take a store in; raises `BadInput`, `Refused`, `StoreDown`, `HomeUnwritable`."""
        found = await self.read()
        with _saying(f"cannot add the store {spec.name[:64]}"):
            new = await self._bound(self._checked(spec, free={}, more=0))
        warnings = await self._settle([new], found.entries)
        answer = {
            "added": new.spec.name,
            "store": self.register.row(self.register.spec(new.spec.name)),
            "resolves": new.resolves,
            "warnings": warnings,
        }
        return StoreChange(answer, added=(new.spec.name,))

    async def remove(self, name: str) -> StoreChange:
        """Let a store go that was added; raises `NotFound`, `Refused`, `HomeUnwritable`.

        Of one that cortex.toml has as well, the one that was added goes, which was never asked.
        """
        found, register = await self.read(), self.register
        spec = register.spec(name)
        added = (*register.managed, *register.shadowed)
        gone = next((each for each in added if each.name == name), None)
        if gone is None:
            why = "what is kept here always takes part" if spec.type == LOCAL else _LASTING
            raise Refused(f"cannot remove {name}: {why}")
        told = await self.write(registry.drop_entry(found.entries, name))
        if spec.managed:
            register.forget(name)
        register.managed = tuple(each for each in register.managed if each is not gone)
        register.shadowed = tuple(each for each in register.shadowed if each is not gone)
        await self.read()
        warnings = [*told, *await self._forgotten(self._unshared([gone.auth]))]
        answer = {"removed": name, "shadowed": not spec.managed, "warnings": warnings}
        return StoreChange(answer, removed=(name,) if spec.managed else ())

    async def take_in(self, text: str, *, may_replace: bool) -> StoreChange:
        """Add what a Callosum's file describes; raises `BadInput`, `HomeUnwritable`."""
        given = await asyncio.to_thread(callosum.read_text, text)
        knobs = schema.change_knobs(self.register.knobs, given.knobs)
        found = await self.read()
        new, answer = await self._outlook(given, may_replace=may_replace)
        before = {each.name: each for each in self.register.managed}
        warnings = await self._settle(new, found.entries) if new else []
        self.register.turn(knobs, {})
        gone = [before[name].auth for name in answer["replaced"]]
        warnings += await self._forgotten(self._unshared(gone))
        return StoreChange({**answer, "warnings": warnings}, added=tuple(answer["added"]))

    async def foresee(self, text: str, *, may_replace: bool) -> dict[str, Any]:
        """Return what `take_in` would answer, and the stores it would take; nothing is changed.

        Raises `BadInput`.
        """
        given = await asyncio.to_thread(callosum.read_text, text)
        schema.change_knobs(self.register.knobs, given.knobs)
        await self.read()
        new, answer = await self._outlook(given, may_replace=may_replace)
        for each in new:
            await each.bound.close()
        return {
            "stores": [schema.format_store(each.spec, "") for each in new],
            **answer,
            "warnings": [warning for each in new for warning in each.warnings],
        }

    async def _outlook(
        self, given: callosum.CallosumFile, *, may_replace: bool
    ) -> tuple[list[_Newcomer], dict[str, Any]]:
        """Return what is new in a file, and what comes of it: replaced, and not taken, as well.

        Names are looked up together: a hundred that no server knows cost what one costs.
        """
        before = {each.name: each for each in self.register.managed}
        free = before if may_replace else {}
        some: list[StoreSpec] = []
        skipped = list(given.skipped)
        for each in given.stores:
            try:
                some.append(self._checked(each, free=free, more=len(some)))
            except (BadInput, Refused) as error:
                skipped.append((each.name[:64], str(error)))
        binding = (self._bound(each) for each in some)
        found = await asyncio.gather(*binding, return_exceptions=True)
        new: list[_Newcomer] = []
        for each, made in zip(some, found, strict=True):
            if isinstance(made, _Newcomer):
                new.append(made)
            elif isinstance(made, BadInput | Refused | StoreDown):
                skipped.append((each.name, str(made)))
            else:
                raise made
        names = [each.spec.name for each in new]
        return new, {
            "added": [name for name in names if name not in before],
            "replaced": [name for name in names if name in before],
            "skipped": [{"name": name, "reason": why} for name, why in skipped],
            "changed": dict(given.knobs),
        }

    def _checked(self, spec: StoreSpec, *, free: dict[str, StoreSpec], more: int) -> StoreSpec:
        """Return a store as it is kept.

        Raises `BadInput` for what is none or has an unknown type, `Refused` for a name that is
        taken or one store more than there may be.
        """
        spec = schema.check_spec(spec)
        types = sorted(self.binder.kinds)
        if spec.type not in types:
            raise BadInput(
                f"cannot add the store {spec.name}: there is no type {spec.type[:64]!r}; "
                f"there are: {', '.join(types)}"
            )
        known = {each.name: each for each in self.register.specs()}
        if spec.name in known and spec.name not in free:
            where = "runtime-stores.json" if known[spec.name].managed else "cortex.toml"
            raise Refused(
                f"cannot add the store {spec.name}: {where} has one of that name; give it another "
                "name, or remove that one first"
            )
        if len(known) + more >= MOST and spec.name not in known:
            raise Refused(f"cannot add the store {spec.name}: there are {MOST} already")
        return spec

    async def _bound(self, spec: StoreSpec) -> _Newcomer:
        """Return a store with its connection; raises why it cannot be asked."""
        bound = await self.binder.bind(spec)
        try:
            resolves, warnings = await bound.resolves(), list[str]()
        except StoreUnusable:
            await bound.close()
            raise
        except StoreDown as error:
            resolves, warnings = {}, [f"{spec.name}: {error}; it is asked all the same"]
        return _Newcomer(spec, bound, resolves, warnings)

    async def _settle(self, new: list[_Newcomer], entries: tuple[object, ...]) -> list[str]:
        """Let newcomers be known and asked, all of them or, if it cannot be written, none.

        Returns what a person reads.
        """
        kept: list[Auth] = []
        try:
            for each in new:
                if token := each.spec.auth.token:
                    place = await self.binder.vault.keep(each.spec.name, token)
                    kept.append(place.auth)
                    each.spec = replace(each.spec, auth=place.auth)
                    each.warnings += [place.warning] if place.warning else []
                entries = registry.put_entry(entries, each.spec)
            told = await self.write(entries)
        except BaseException:
            for each in new:
                await each.bound.close()
            await self._forgotten(kept)
            raise
        await self.read()
        for each in new:
            self.register.forget(each.spec.name)
            if each.spec.enabled:
                self.register.bound[each.spec.name] = replace(each.bound, spec=each.spec)
            else:
                await each.bound.close()
        return [*told, *(warning for each in new for warning in each.warnings)]

    def _unshared(self, some: Iterable[Auth]) -> list[Auth]:
        """Return those that no store which is described still names."""
        left = (*self.register.specs(), *self.register.shadowed)
        shared = {each.auth.token_keyring for each in left}
        return [one for one in some if one.token_keyring not in shared]

    async def _forgotten(self, some: Iterable[Auth]) -> list[str]:
        """Delete what was kept of tokens; return what a person has to do himself."""
        told = []
        for each in some:
            try:
                await self.binder.vault.forget(each)
            except StoreDown as error:
                told.append(f"a token is still in the keyring as {each.token_keyring}: {error}")
        return told

    async def enable(self, name: str, *, on: bool) -> StoreChange:
        """Ask a store from now on, or no more; raises `NotFound`, `Refused`, `StoreDown`."""
        register, draft = self.register, await self.draft()
        spec = register.spec(name)
        if spec.type == LOCAL:
            word = "enabled" if on else "disabled"
            raise Refused(f"{name} cannot be {word}: what is kept here always takes part")
        bound: Bound | None = None
        if on and name not in register.bound:
            with _saying(f"cannot enable {name}"):
                bound = await self.binder.bind(spec)
        try:
            draft.change(spec, {"enabled": on})
            await self.follow(draft)
        except BaseException:
            if bound is not None:
                await bound.close()
            raise
        if bound is not None:
            register.bound[name] = bound
        elif not on:
            register.let_go(name)
        register.unbindable.pop(name, None)
        return self._told(name, draft)

    async def tune(self, name: str, *, weight: float | None, floor: float | None) -> StoreChange:
        """Let a store count otherwise; raises `BadInput`, `NotFound`, `Refused`."""
        draft = await self.draft()
        given = {"weight": weight, "floor": floor}
        self._tune(draft, name, {key: each for key, each in given.items() if each is not None})
        await self.follow(draft)
        return self._told(name, draft)

    async def configure(self, changes: Mapping[str, Any]) -> StoreChange:
        """Turn knobs, and what stores count; raises `BadInput`, `NotFound`, `Refused`."""
        given = {name: value for name, value in changes.items() if name != STORES}
        knobs = schema.change_knobs(self.register.knobs, given)
        stores = _overrides(changes.get(STORES, []))
        draft = await self.draft()
        for name, how in stores:
            self._tune(draft, name, how)
        await self.follow(draft)
        self.register.turn(knobs, {})
        told = [{"name": name, **how} for name, how in stores]
        changed = {**given, STORES: told} if STORES in changes else given
        lasts = RESTART if given else draft.lasts
        return StoreChange({"changed": changed, "lasts": lasts, "kept": sorted(draft.kept)})

    def _tune(self, draft: StoreDraft, name: str, how: Mapping[str, Any]) -> None:
        """Put into a draft what a store is to count; raises as `tune` does."""
        spec = self.register.spec(name)
        if spec.type == LOCAL and "floor" in how:
            raise Refused(
                f"{name} has no floor: what is kept here is ranked by one search; give it a weight"
            )
        draft.change(spec, schema.check_weights(name, how))

    def _told(self, name: str, draft: StoreDraft) -> StoreChange:
        """Return what a store is now."""
        row = self.register.row(self.register.spec(name))
        return StoreChange({"store": row, "lasts": draft.lasts})

    async def read(self) -> Overlaid:
        """Read what the overlay holds now: a person may have repaired it by hand.

        A file that was spoilt since it was read last takes nothing away: what is known of it goes
        on, and the next write puts that in its place.
        """
        found = await asyncio.to_thread(self._file.read)
        if not found.is_sound:
            managed = self.register.managed
            known = (*managed, *self.register.shadowed)
            entries = tuple(schema.format_entry(each) for each in known)
            # Asked meanwhile is who is known from before it was spoilt.
            names = ", ".join(each.name for each in managed)
            meanwhile = (
                f"what was read of it before counts until the daemon restarts: {names}"
                if managed
                else "no store that was added by command is asked meanwhile"
            )
            told = tuple(f"{each}; {meanwhile}" for each in found.trouble)
            found = replace(found, entries=entries, specs=known, trouble=told)
        self.register.overlay(found)
        return found

    async def write(self, entries: Sequence[object]) -> list[str]:
        """Let the overlay hold these; return what a person reads of it.

        Raises `HomeUnwritable`, and then it is as it was.
        """
        aside = await asyncio.to_thread(self._file.write, entries)
        return [] if aside is None else [f"what was there before is kept as {aside}"]

    async def draft(self) -> StoreDraft:
        """Return a change that begins with what the overlay holds now."""
        return StoreDraft((await self.read()).entries)

    async def follow(self, draft: StoreDraft) -> None:
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
        binding = (self.binder.bind(each) for each in missing)
        found = await asyncio.gather(*binding, return_exceptions=True)
        made = {spec.name: each for spec, each in zip(missing, found, strict=True)}
        register.unbindable = {name: str(e) for name, e in made.items() if isinstance(e, StoreDown)}
        register.bound |= {n: e for n, e in made.items() if not isinstance(e, BaseException)}
        for each in found:
            if isinstance(each, BaseException) and not isinstance(each, StoreDown):
                raise each
        return any(type(each) is StoreDown for each in found)


@contextmanager
def _saying(what: str) -> Iterator[None]:
    """Put before the reason why a store cannot be asked what was attempted."""
    try:
        yield
    except StoreDown as error:
        kind = StoreUnusable if isinstance(error, StoreUnusable) else StoreDown
        raise kind(f"{what}: {error}") from error


def _overrides(given: object) -> list[tuple[str, dict[str, Any]]]:
    """Return what is to count of which store; one without a name is left out.

    Raises `BadInput`.
    """
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        message = 'write it as a list: {"stores": [{"name": "facts", "weight": 2.0}]}'
        raise BadInput(f"cannot configure the stores: {message}")
    found = []
    for each in given:
        name = each.get("name")
        if name is None:
            continue
        strange = sorted(each.keys() - {"name", *_TUNED})
        if not isinstance(name, str) or strange:
            what = f"{strange[0][:64]!r} of {name!r}" if strange else f"a store named {name!r}"
            raise BadInput(f"cannot configure {what[:200]}: a store has a name, weight and floor")
        found.append((name, {key: each[key] for key in _TUNED if each.get(key) is not None}))
    return found
