"""How stores come and go while the daemon runs: added and removed.

What lasts is written before it counts. A token that was given is put into the keyring before the
description that names it is written, and taken out again when that fails; a crash in between leaves
an entry of ours that nothing names.

What is turned while the daemon runs: whom a question asks, what they count, how the fan is set.

Everything is checked before anything is done: a method that raises has changed nothing.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cortex_actors.errors import BadInput, Refused, StoreDown, StoreUnusable
from cortex_actors.federation import registry, schema
from cortex_actors.federation.registry import Overlaid, Overlay, Register, StoreChange
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


#: How long a change counts: for good, or until the daemon restarts.
KEPT, RESTART = "kept", "restart"

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
        register, found = self.register, await self.read()
        with _saying(f"cannot add the store {spec.name[:64]}"):
            spec = self._checked(spec)
            bound, resolves, warnings = await self._bound(spec)
        kept: list[Auth] = []
        try:
            if spec.auth.token:
                place = await self.binder.vault.keep(spec.name, spec.auth.token)
                kept.append(place.auth)
                spec = replace(spec, auth=place.auth)
                warnings += [place.warning] if place.warning else []
            await self.write(registry.put_entry(found.entries, spec))
        except BaseException:
            await bound.close()
            await self._forgotten(kept)
            raise
        await self.read()
        register.forget(spec.name)
        if spec.enabled:
            register.bound[spec.name] = replace(bound, spec=spec)
        else:
            await bound.close()
        answer = {
            "added": spec.name,
            "store": register.format_row(register.find_spec(spec.name)),
            "resolves": resolves,
            "warnings": warnings,
        }
        return StoreChange(answer, added=(spec.name,))

    async def remove(self, name: str) -> StoreChange:
        """Let a store go that was added; raises `NotFound`, `Refused`, `HomeUnwritable`.

        Of one that cortex.toml has as well, the one that was added goes, which was never asked.
        """
        found, register = await self.read(), self.register
        spec = register.find_spec(name)
        added = (*register.managed, *register.shadowed)
        gone = next((each for each in added if each.name == name), None)
        if gone is None:
            why = "what is kept here always takes part" if spec.type == LOCAL else _LASTING
            raise Refused(f"cannot remove {name}: {why}")
        await self.write(registry.drop_entry(found.entries, name))
        if spec.managed:
            register.forget(name)
        register.managed = tuple(each for each in register.managed if each is not gone)
        register.shadowed = tuple(each for each in register.shadowed if each is not gone)
        await self.read()
        warnings = await self._forgotten(self._unshared([gone.auth]))
        answer = {"removed": name, "shadowed": not spec.managed, "warnings": warnings}
        return StoreChange(answer, removed=(name,) if spec.managed else ())

    def _checked(self, spec: StoreSpec) -> StoreSpec:
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
        known = {each.name: each for each in self.register.list_specs()}
        if spec.name in known:
            where = "runtime-stores.json" if known[spec.name].managed else "cortex.toml"
            raise Refused(
                f"cannot add the store {spec.name}: {where} has one of that name; give it another "
                "name, or remove that one first"
            )
        if len(known) >= MOST:
            raise Refused(f"cannot add the store {spec.name}: there are {MOST} already")
        return spec

    async def _bound(self, spec: StoreSpec) -> tuple[Bound, dict[str, str], list[str]]:
        """Return a store's connection, where its address leads, and what a person reads of it.

        Raises why it cannot be asked.
        """
        bound = await self.binder.bind(spec)
        try:
            return bound, await bound.resolve(), []
        except StoreUnusable:
            await bound.close()
            raise
        except StoreDown as error:
            return bound, {}, [f"{spec.name}: {error}; it is asked all the same"]

    def _unshared(self, some: Iterable[Auth]) -> list[Auth]:
        """Return those that no store which is described still names."""
        left = (*self.register.list_specs(), *self.register.shadowed)
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
        register, found = self.register, await self.read()
        spec = register.find_spec(name)
        if spec.type == LOCAL:
            word = "enabled" if on else "disabled"
            raise Refused(f"{name} cannot be {word}: what is kept here always takes part")
        bound: Bound | None = None
        if on and name not in register.bound:
            with _saying(f"cannot enable {name}"):
                bound = await self.binder.bind(spec)
        try:
            kept = await self._follow([(spec, {"enabled": on})], found.entries)
        except BaseException:
            if bound is not None:
                await bound.close()
            raise
        if bound is not None:
            register.bound[name] = bound
        elif not on:
            register.release(name)
        register.unbindable.pop(name, None)
        return self._told(name, lasts=KEPT if kept else RESTART)

    async def tune(self, name: str, *, weight: float | None, floor: float | None) -> StoreChange:
        """Let a store count otherwise; raises `BadInput`, `NotFound`, `Refused`."""
        found = await self.read()
        given = {"weight": weight, "floor": floor}
        how = {key: each for key, each in given.items() if each is not None}
        kept = await self._follow([self._tuned(name, how)], found.entries)
        return self._told(name, lasts=KEPT if kept else RESTART)

    async def configure(self, changes: Mapping[str, Any]) -> StoreChange:
        """Turn knobs, and what stores count; raises `BadInput`, `NotFound`, `Refused`."""
        given = {name: value for name, value in changes.items() if name != STORES}
        knobs = schema.change_knobs(self.register.knobs, given)
        stores = _overrides(changes.get(STORES, []))
        found = await self.read()
        tuned = [self._tuned(name, how) for name, how in stores]
        kept = await self._follow(tuned, found.entries)
        self.register.set_knobs(knobs, {})
        told = [{"name": name, **how} for name, how in stores]
        changed = {**given, STORES: told} if STORES in changes else given
        is_kept = not given and all(spec.managed for spec, _ in tuned)
        lasts = KEPT if is_kept else RESTART
        return StoreChange({"changed": changed, "lasts": lasts, "kept": kept})

    def _tuned(self, name: str, how: Mapping[str, Any]) -> tuple[StoreSpec, dict[str, Any]]:
        """Return a store, and what it is to count; raises as `tune` does."""
        spec = self.register.find_spec(name)
        if spec.type == LOCAL and "floor" in how:
            raise Refused(
                f"{name} has no floor: what is kept here is ranked by one search; give it a weight"
            )
        return spec, schema.check_weights(name, how)

    def _told(self, name: str, *, lasts: str) -> StoreChange:
        """Return what a store is now, and how long that counts."""
        row = self.register.format_row(self.register.find_spec(name))
        return StoreChange({"store": row, "lasts": lasts})

    async def read(self) -> Overlaid:
        """Read what the overlay holds now: a person may have repaired it by hand.

        A file that was spoilt since it was read last takes nothing away: what is known of it goes
        on, until the daemon restarts.
        """
        found, register = await asyncio.to_thread(self._file.read), self.register
        if not found.is_sound:
            found = replace(found, specs=(*register.managed, *register.shadowed))
        register.apply_overlay(found)
        return found

    async def write(self, entries: Sequence[object]) -> None:
        """Let the overlay hold these; raises as `Overlay.write` does."""
        await asyncio.to_thread(self._file.write, entries)

    async def _follow(
        self, changes: Iterable[tuple[StoreSpec, dict[str, Any]]], entries: tuple[object, ...]
    ) -> list[str]:
        """Let stores be otherwise; return those of the overlay, for which that is for good.

        What is kept is written first, behind `entries` of before. Raises as `write` does.
        """
        register = self.register
        kept: dict[str, StoreSpec] = {}
        tuned: dict[str, dict[str, Any]] = {}
        for spec, how in changes:
            if spec.managed:
                kept[spec.name] = replace(kept.get(spec.name, spec), **how)
                entries = registry.put_entry(entries, kept[spec.name])
            else:
                tuned[spec.name] = {**tuned.get(spec.name, {}), **how}
        if kept:
            await self.write(entries)
        register.managed = tuple(kept.get(each.name, each) for each in register.managed)
        register.set_knobs(register.knobs, tuned)
        return sorted(kept)

    async def bind_enabled(self) -> bool:
        """Let all that is enabled be asked; return whether another try may bring more.

        What cannot be asked as it is described is noted with why; nothing else is changed by it.
        """
        register = self.register
        wanted = {each.name: each for each in register.list_specs() if each.enabled}
        for name, bound in tuple(register.bound.items()):
            if name not in wanted or not bound.serves(wanted[name]):
                register.release(name)
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
