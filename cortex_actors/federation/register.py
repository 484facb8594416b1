"""Register: what the roster knows. It outlives the roster's crashes, and nothing else of it does.

The stores of the settings are the base; those of `runtime-stores.json` come after them. What was
turned while the daemon ran lies over the settings, until it restarts or the settings say something
else of the same thing: whoever writes into cortex.toml by hand has the last word.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from cortex_actors.errors import NotFound
from cortex_actors.federation import describing
from cortex_actors.federation.health import StoreHealth
from cortex_actors.federation.local import SEPARATE
from cortex_actors.federation.spec import Fan, Knobs, Member, StoreSpec
from cortex_actors.federation.store import LOCAL
from cortex_actors.storage.search.scope import ROOMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cortex_actors.federation.binding import Bound
    from cortex_actors.federation.overlay import Overlaid
    from cortex_actors.federation.store import Outcome, RecallStore
    from cortex_actors.federationsections import FederationSettings, TlsSettings


@dataclass(slots=True)
class Register:
    """Which stores there are, how each has been doing, and what was turned.

    Attributes:
        settings: the section that the base is of; None before the first roster.
        managed: the stores that were added while the daemon ran.
        shadowed: such stores whose name one of the settings has: they are not asked.
        faults: what is wrong with the overlay itself, a sentence each.
        bound: name -> what a store that can be asked is asked through.
        unbindable: name -> why a store that is enabled cannot be asked.
        leaving: stores that nobody is to ask any more, though a question in hand still may.
        health: name -> how a store has been doing.

    """

    settings: FederationSettings | None = None
    managed: tuple[StoreSpec, ...] = ()
    shadowed: tuple[StoreSpec, ...] = ()
    faults: tuple[str, ...] = ()
    bound: dict[str, Bound] = field(default_factory=dict)
    unbindable: dict[str, str] = field(default_factory=dict)
    leaving: list[Bound] = field(default_factory=list)
    health: dict[str, StoreHealth] = field(default_factory=dict)
    _tls: TlsSettings | None = None
    _turned: dict[str, Any] = field(default_factory=dict)
    _tuned: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def knobs(self) -> Knobs:
        """How the fan is set now."""
        return replace(self.by_settings, **self._turned)

    @property
    def by_settings(self) -> Knobs:
        """How the settings have it."""
        return Knobs() if self.settings is None else describing.knobs_of(self.settings)

    @property
    def local(self) -> tuple[str, ...]:
        """The names under which what is kept here takes part."""
        return ROOMS if self.knobs.local == SEPARATE else (LOCAL,)

    @property
    def trouble(self) -> tuple[str, ...]:
        """What a person has to mend: what is wrong with the overlay, and what of it is unused."""
        told = [
            f"the store {each.name} of runtime-stores.json is not used: cortex.toml has one of "
            f"that name; cortex stores remove {each.name} forgets the one that is not used"
            for each in self.shadowed
        ]
        return (*self.faults, *told)

    def adopt(self, settings: FederationSettings, tls: TlsSettings) -> None:
        """Follow these settings; what was turned goes on where they say what they said before.

        Connections are made anew where anything of it changed, because it tells how they are.
        """
        before = self.settings
        if before is not None and (before, self._tls) != (settings, tls):
            self._turned = {
                name: value
                for name, value in self._turned.items()
                if getattr(before, name) == getattr(settings, name)
            }
            old = {each.name: each for each in before.stores}
            new = {each.name: each for each in settings.stores}
            differ = {name for name in {*old, *new} if old.get(name) != new.get(name)}
            self._tuned = {name: how for name, how in self._tuned.items() if name not in differ}
            for name in differ:
                if not _is_same(_face(old, name), _face(new, name)):
                    self.health.pop(name, None)
            for name in tuple(self.bound):
                self.let_go(name)
        self.settings, self._tls = settings, tls

    def overlay(self, read: Overlaid) -> None:
        """Take in what the overlay holds; of two stores of one name that of the settings counts."""
        base = {each.name for each in self._base()}
        self.shadowed = tuple(each for each in read.specs if each.name in base)
        self.managed = tuple(each for each in read.specs if each.name not in base)
        self.faults = read.trouble

    def specs(self) -> tuple[StoreSpec, ...]:
        """Return every store but what is kept here: the settings' first, in their order."""
        base = [replace(each, **self._tuned.get(each.name, {})) for each in self._base()]
        return (*base, *self.managed)

    def spec(self, name: str) -> StoreSpec:
        """Return a store, what is kept here among them; raises `NotFound`."""
        for each in (*self._local(), *self.specs()):
            if each.name == name:
                return each
        known = ", ".join(each.name for each in self.specs()) or "none yet"
        raise NotFound(f"no store named {name[:64]!r}; there are: {known} (cortex stores list)")

    def fan(self, local: Sequence[RecallStore]) -> Fan:
        """Return what a question asks: what is kept here, then what can be asked, in order."""
        here = [Member(each, self._local_weight(each.name)) for each in local]
        there = [
            Member(self.bound[each.name].store, each.weight, each.floor)
            for each in self.specs()
            if each.name in self.bound
        ]
        return Fan((*here, *there), self.knobs, tuple(self.unbindable.items()))

    def turn(self, knobs: Knobs, tuned: Mapping[str, Mapping[str, Any]]) -> None:
        """Let knobs be so, and some stores of the settings (or what is kept here) count so."""
        settings = self.by_settings
        self._turned = {
            name: value
            for name in describing.KNOBS
            if (value := getattr(knobs, name)) != getattr(settings, name)
        }
        for name, how in tuned.items():
            self._tuned[name] = {**self._tuned.get(name, {}), **how}

    def let_go(self, name: str) -> None:
        """Ask a store no more; its connections are closed once no question has it in hand."""
        if (gone := self.bound.pop(name, None)) is not None:
            self.leaving.append(gone)

    def forget(self, name: str) -> None:
        """Know nothing of a store any more."""
        self.let_go(name)
        for known in (self.unbindable, self.health, self._tuned):
            known.pop(name, None)

    def note(self, outcomes: Iterable[Outcome], *, at: int) -> list[tuple[str, bool]]:
        """Take down how some asks ended by that time (UTC microseconds).

        Return the stores that are down, or up again (True).
        """
        flips = []
        known = {*self.local, *(each.name for each in self.specs())}
        for each in outcomes:
            if each.store not in known:
                continue  # it was removed while it was asked
            before = self.health.get(each.store, StoreHealth(each.store))
            self.health[each.store] = before.after(each.seconds, each.reason, at=at)
            if bool(before.reason) != bool(each.reason):
                flips.append((each.store, not each.reason))
        return flips

    def standings(self) -> list[StoreHealth]:
        """Return how each store has been doing, one that was never asked among them, in order."""
        names = [*self.local, *(each.name for each in self.specs())]
        return [self.health.get(name, StoreHealth(name)) for name in names]

    def rows(self) -> list[dict[str, Any]]:
        """Return every store as clients get it."""
        return [self.row(each) for each in (*self._local(), *self.specs())]

    def row(self, spec: StoreSpec) -> dict[str, Any]:
        """Return one store as clients get it."""
        return describing.shown(spec, self._status(spec))

    def waiting(self) -> bool:
        """Return whether what is set up is not what is described: somebody has edited the file."""
        wanted = {each.name: each for each in self.specs() if each.enabled}
        tried = self.bound.keys() | self.unbindable.keys()
        return not tried >= wanted.keys() or any(
            name not in wanted or not bound.serves(wanted[name])
            for name, bound in self.bound.items()
        )

    def active(self) -> list[str]:
        """Return the names of what a question asks."""
        return [*self.local, *(each.name for each in self.specs() if each.name in self.bound)]

    def turned(self) -> dict[str, dict[str, Any]]:
        """Return what is set otherwise than the settings have it."""
        settings = self.by_settings
        return {
            name: {"live": value, "settings": getattr(settings, name)}
            for name, value in self._turned.items()
        }

    def tuned(self) -> dict[str, dict[str, Any]]:
        """Return what stores that the overlay does not keep count otherwise than was set."""
        base = {each.name: each for each in self._base()}
        base |= {name: StoreSpec(name, LOCAL, "") for name in self.local}
        found: dict[str, dict[str, Any]] = {}
        for name in base.keys() & self._tuned.keys():
            for each, value in self._tuned[name].items():
                if value != (before := getattr(base[name], each)):
                    found.setdefault(name, {})[each] = {"live": value, "settings": before}
        return found

    def _status(self, spec: StoreSpec) -> str:
        if not spec.enabled:
            return "disabled"
        if spec.type == LOCAL or spec.name in self.bound:
            return "active"
        return f"skipped: {self.unbindable.get(spec.name, 'it is being set up')}"

    def _base(self) -> list[StoreSpec]:
        """Return the settings' stores as they stand there."""
        stores = () if self.settings is None else self.settings.stores
        return [describing.spec_of(each, managed=False) for each in stores]

    def _local(self) -> list[StoreSpec]:
        """Return what is kept here as if it were a store like others."""
        return [StoreSpec(name, LOCAL, "", self._local_weight(name)) for name in self.local]

    def _local_weight(self, name: str) -> float:
        return float(self._tuned.get(name, {}).get("weight", 1.0))


def _face(stores: Mapping[str, Any], name: str) -> StoreSpec | None:
    """Return a store of the settings, if there is one of that name."""
    found = stores.get(name)
    return None if found is None else describing.spec_of(found, managed=False)


def _is_same(one: StoreSpec | None, other: StoreSpec | None) -> bool:
    """Return whether two descriptions mean the same store: how it did says something of it."""
    return one is not None and other is not None and (one.type, one.url) == (other.type, other.url)
