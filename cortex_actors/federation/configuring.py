"""What is turned while the daemon runs: whom a question asks, what they count, how the fan is set.

Everything is checked before anything is done, and whoever raises has changed nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cortex_actors.errors import BadInput, Refused, StoreDown, StoreUnusable
from cortex_actors.federation import describing
from cortex_actors.federation.books import RESTART, Done
from cortex_actors.federation.store import LOCAL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.federation.binding import Bound
    from cortex_actors.federation.books import Books, Draft
    from cortex_actors.federation.register import Register
    from cortex_actors.federation.spec import StoreSpec

#: What `configure` calls the list of stores among what is turned.
STORES = "stores"

#: What of a store may be turned by `configure`.
_TUNED = ("weight", "floor")


class Configuring:
    """Turns what may be turned."""

    def __init__(self, books: Books) -> None:
        """Turn what is in these books."""
        self._books = books

    @property
    def _register(self) -> Register:
        return self._books.register

    async def enable(self, name: str, *, on: bool) -> Done:
        """Ask a store from now on, or no more; raises `NotFound`, `Refused`, `StoreDown`."""
        register, draft = self._register, await self._books.draft()
        spec = register.spec(name)
        if spec.type == LOCAL:
            word = "enabled" if on else "disabled"
            raise Refused(f"{name} cannot be {word}: what is kept here always takes part")
        bound = await self._bound(spec) if on and name not in register.bound else None
        try:
            draft.change(spec, {"enabled": on})
            await self._books.follow(draft)
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

    async def tune(self, name: str, *, weight: float | None, floor: float | None) -> Done:
        """Let a store count otherwise; raises `BadInput`, `NotFound`, `Refused`."""
        draft = await self._books.draft()
        given = {"weight": weight, "floor": floor}
        self._tune(draft, name, {key: each for key, each in given.items() if each is not None})
        await self._books.follow(draft)
        return self._told(name, draft)

    async def configure(self, changes: Mapping[str, Any]) -> Done:
        """Turn knobs, and what stores count; raises `BadInput`, `NotFound`, `Refused`."""
        given = {name: value for name, value in changes.items() if name != STORES}
        knobs = describing.turned(self._register.knobs, given)
        stores = _overrides(changes.get(STORES, []))
        draft = await self._books.draft()
        for name, how in stores:
            self._tune(draft, name, how)
        await self._books.follow(draft)
        self._register.turn(knobs, {})
        changed = dict(given)
        if STORES in changes:
            changed[STORES] = [{"name": name, **how} for name, how in stores]
        lasts = RESTART if given else draft.lasts
        return Done({"changed": changed, "lasts": lasts, "kept": sorted(draft.kept)})

    async def _bound(self, spec: StoreSpec) -> Bound:
        """Return a store as it can be asked; raises why it cannot."""
        try:
            return await self._books.binder.bind(spec)
        except StoreDown as error:
            kind = StoreUnusable if isinstance(error, StoreUnusable) else StoreDown
            raise kind(f"cannot enable {spec.name}: {error}") from error

    def _tune(self, draft: Draft, name: str, how: Mapping[str, Any]) -> None:
        """Put into a draft what a store is to count; raises as `tune` does."""
        spec = self._register.spec(name)
        if spec.type == LOCAL and "floor" in how:
            raise Refused(
                f"{name} has no floor: what is kept here is ranked by one search; give it a weight"
            )
        draft.change(spec, describing.counting(name, how))

    def _told(self, name: str, draft: Draft) -> Done:
        """Return what a store is now."""
        row = self._register.row(self._register.spec(name))
        return Done({"store": row, "lasts": draft.lasts})


def _overrides(given: object) -> list[tuple[str, dict[str, Any]]]:
    """Return what is to count of which store; one without a name is nobody's, and left out.

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
        how = {key: each[key] for key in _TUNED if each.get(key) is not None}
        found.append((name, how))
    return found
