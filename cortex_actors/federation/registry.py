"""Register: what the roster knows. It outlives the roster's crashes, and nothing else of it does.

The stores of the settings are the base; those of `runtime-stores.json` come after them. What was
turned while the daemon ran lies over the settings, until it restarts or the settings say something
else of the same thing: a line written into cortex.toml by hand has the last word.

The overlay: stores that were added while the daemon ran, in the home's `runtime-stores.json`.

A JSON array that may be read and mended by hand. What is not understood of it is left as it is: an
entry that is none stays in the file, and a file that is no array is left alone: no change is made
before it is mended. Every write is a whole new file, 0600 because it may hold tokens, in one
stroke: a crash leaves the one before.
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from cortex_actors.endpoint.replies import refuse_constant, require_finite
from cortex_actors.errors import BadInput, HomeUnwritable, NotFound, Refused
from cortex_actors.federation import schema
from cortex_actors.federation.local import SEPARATE
from cortex_actors.federation.store import LOCAL, Fan, Member, StoreHealth, StoreSpec
from cortex_actors.home import replace_file
from cortex_actors.sections import FederationSettings, TlsSettings
from cortex_actors.storage.search.scope import ROOMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from cortex_actors.federation.binding import Bound
    from cortex_actors.federation.store import AskOutcome, RecallStore


@dataclass(slots=True)
class Register:
    """Which stores there are, how each has been doing, and what was turned.

    Attributes:
        settings: the section that the base is of; the defaults before the first roster.
        managed: the stores that were added while the daemon ran.
        shadowed: such stores whose name one of the settings has: they are not asked.
        faults: what is wrong with the overlay itself, a sentence each.
        bound: name -> what a store that can be asked is asked through.
        unbindable: name -> why a store that is enabled cannot be asked.
        leaving: stores that no new question asks, though one that runs still may.
        health: name -> how a store has been doing.

    """

    settings: FederationSettings = field(default_factory=FederationSettings)
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
    def knobs(self) -> FederationSettings:
        """How the fan is set now."""
        return self.settings.model_copy(update=self._turned)

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
        """Follow these settings; what was turned holds until they are others.

        Connections are made again where anything of it changed, because it says how they are made.
        """
        before, old = self.settings, {each.name: each for each in self._base()}
        is_same = (before, self._tls) == (settings, tls)
        self.settings, self._tls = settings, tls
        if is_same:
            return
        self._turned, self._tuned = {}, {}
        new = {each.name: each for each in self._base()}
        for name in {*old, *new}:
            one, other = old.get(name), new.get(name)
            if not (one and other) or (one.type, one.url) != (other.type, other.url):
                # It is another store: how the one did says nothing of it.
                self.health.pop(name, None)
        for name in tuple(self.bound):
            self.release(name)

    def apply_overlay(self, read: Overlaid) -> None:
        """Note what the overlay holds; of two stores of one name that of the settings counts."""
        base = {each.name for each in self._base()}
        self.shadowed = tuple(each for each in read.specs if each.name in base)
        self.managed = tuple(each for each in read.specs if each.name not in base)
        self.faults = read.trouble

    def list_specs(self) -> tuple[StoreSpec, ...]:
        """Return every store but what is kept here: the settings' first, in their order."""
        base = [replace(each, **self._tuned.get(each.name, {})) for each in self._base()]
        return (*base, *self.managed)

    def find_spec(self, name: str) -> StoreSpec:
        """Return a store, what is kept here among them; raises `NotFound`."""
        for each in (*self._local(), *self.list_specs()):
            if each.name == name:
                return each
        known = ", ".join(each.name for each in self.list_specs()) or "none yet"
        raise NotFound(f"no store named {name[:64]!r}; there are: {known} (cortex stores list)")

    def make_fan(self, local: Sequence[RecallStore]) -> Fan:
        """Return what a question asks: what is kept here, then what can be asked, in order."""
        here = [Member(each, self._local_weight(each.name)) for each in local]
        there = [
            Member(self.bound[each.name].store, each.weight, each.floor)
            for each in self.list_specs()
            if each.name in self.bound
        ]
        return Fan((*here, *there), self.knobs, tuple(self.unbindable.items()))

    def set_knobs(self, knobs: FederationSettings, tuned: Mapping[str, Mapping[str, Any]]) -> None:
        """Let knobs be so, and some stores of the settings (or what is kept here) count so."""
        self._turned = {
            name: value
            for name in schema.KNOBS
            if (value := getattr(knobs, name)) != getattr(self.settings, name)
        }
        for name, how in tuned.items():
            self._tuned[name] = {**self._tuned.get(name, {}), **how}

    def release(self, name: str) -> None:
        """Ask a store no more; its connections are closed once no question uses it."""
        if (gone := self.bound.pop(name, None)) is not None:
            self.leaving.append(gone)

    def forget(self, name: str) -> None:
        """Know nothing of a store any more."""
        self.release(name)
        for known in (self.unbindable, self.health, self._tuned):
            known.pop(name, None)

    def note_outcomes(self, outcomes: Iterable[AskOutcome], *, at: int) -> list[tuple[str, bool]]:
        """Take down how some asks ended by that time (UTC microseconds).

        Return the stores that are down, or up again (True).
        """
        flips = []
        known = {*self.local, *(each.name for each in self.list_specs())}
        for each in outcomes:
            if each.store not in known:
                continue  # it was removed while it was asked
            before = self.health.get(each.store, StoreHealth(each.store))
            self.health[each.store] = before.note_ask(each.seconds, each.reason, at=at)
            if bool(before.reason) != bool(each.reason):
                flips.append((each.store, not each.reason))
        return flips

    def list_health(self) -> list[StoreHealth]:
        """Return how each store has been doing, one that was never asked among them, in order."""
        names = [*self.local, *(each.name for each in self.list_specs())]
        return [self.health.get(name, StoreHealth(name)) for name in names]

    def list_rows(self) -> list[dict[str, Any]]:
        """Return every store as clients get it."""
        return [self.format_row(each) for each in (*self._local(), *self.list_specs())]

    def format_row(self, spec: StoreSpec) -> dict[str, Any]:
        """Return one store as clients get it."""
        status = "active" if spec.enabled else "disabled"
        if spec.enabled and spec.type != LOCAL and spec.name not in self.bound:
            status = f"skipped: {self.unbindable.get(spec.name, 'it is being set up')}"
        return schema.format_store(spec, status)

    def needs_binding(self) -> bool:
        """Return whether what is set up is not what is described: the file was edited."""
        wanted = {each.name: each for each in self.list_specs() if each.enabled}
        tried = self.bound.keys() | self.unbindable.keys()
        return not tried >= wanted.keys() or any(
            name not in wanted or not bound.serves(wanted[name])
            for name, bound in self.bound.items()
        )

    def list_active(self) -> list[str]:
        """Return the names of what a question asks."""
        return [*self.local, *(each.name for each in self.list_specs() if each.name in self.bound)]

    def list_turned(self) -> dict[str, dict[str, Any]]:
        """Return what is set otherwise than the settings have it."""
        return {
            name: {"live": value, "settings": getattr(self.settings, name)}
            for name, value in self._turned.items()
        }

    def list_tuned(self) -> dict[str, dict[str, Any]]:
        """Return what stores that the overlay does not keep count otherwise than was set."""
        base = {each.name: each for each in self._base()}
        base |= {name: StoreSpec(name, LOCAL, "") for name in self.local}
        found: dict[str, dict[str, Any]] = {}
        for name in base.keys() & self._tuned.keys():
            for each, value in self._tuned[name].items():
                if value != (before := getattr(base[name], each)):
                    found.setdefault(name, {})[each] = {"live": value, "settings": before}
        return found

    def _base(self) -> list[StoreSpec]:
        """Return the settings' stores as they are there."""
        return [schema.make_spec(each, managed=False) for each in self.settings.stores]

    def _local(self) -> list[StoreSpec]:
        """Return what is kept here as if it were a store like others."""
        return [StoreSpec(name, LOCAL, "", self._local_weight(name)) for name in self.local]

    def _local_weight(self, name: str) -> float:
        return float(self._tuned.get(name, {}).get("weight", 1.0))


#: Bytes the file may have: some hundred stores, described at length.
LARGEST = 1_048_576

#: What others may do with a file.
_OTHERS = 0o077

#: Characters that are shown of an entry's name.
_SHOWN = 64


@dataclass(frozen=True, slots=True)
class Overlaid:
    """What the file holds.

    Attributes:
        entries: what is in the array, understood or not.
        specs: the stores among it, in order; of several with one name the first.
        trouble: what a person has to mend, a sentence each.
        is_sound: it is missing or a file of ours, and so may be replaced; another one is a
            person's to mend first.

    """

    entries: tuple[object, ...] = ()
    specs: tuple[StoreSpec, ...] = ()
    trouble: tuple[str, ...] = ()
    is_sound: bool = True


class Overlay:
    """The file of one home. Every method blocks for a read or a write of one small file."""

    def __init__(self, path: Path) -> None:
        """Remember the path; it is made with the first store."""
        self.path = path

    def read(self) -> Overlaid:
        """Return what it holds; a file that cannot be used holds nothing, and says so."""
        try:
            text, is_private = self._text()
        except FileNotFoundError:
            return Overlaid()
        except (OSError, ValueError) as error:
            return self._unsound(getattr(error, "strerror", None) or str(error))
        try:
            entries = json.loads(text, parse_constant=refuse_constant, parse_float=require_finite)
        except (ValueError, RecursionError) as error:
            why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            return self._unsound(f"it is no JSON ({why[:200]})")
        if not isinstance(entries, list):
            return self._unsound("it holds no array")
        loose = f"others may read {self.path}, and it may hold tokens: chmod 600 it"
        found: dict[str, StoreSpec] = {}
        trouble = []
        for number, entry in enumerate(entries, start=1):
            what = f"the store {_name(entry)[:_SHOWN]!r}" if _name(entry) else f"entry {number}"
            try:
                spec = schema.read(entry)
            except BadInput as error:
                trouble.append(f"{what} of runtime-stores.json is left out: {error}")
                continue
            if spec.name in found:
                trouble.append(f"{what} is in runtime-stores.json twice: the first one counts")
            found.setdefault(spec.name, spec)
        trouble += [] if is_private else [loose]
        return Overlaid(tuple(entries), tuple(found.values()), tuple(trouble))

    def write(self, entries: Sequence[object]) -> None:
        """Let the file hold these.

        Raises `HomeUnwritable`, also where what is there is none of ours, and `Refused` for more
        than is read again; then it is as it was.
        """
        body = f"{json.dumps(entries, indent=2)}\n".encode("ascii")
        if len(body) > LARGEST:
            message = f"{self.path} would have more than {LARGEST:,} bytes"
            raise Refused(f"{message}; nothing was changed: describe the stores in fewer words")
        if not (found := self.read()).is_sound:
            raise HomeUnwritable(f"nothing was changed: {found.trouble[0]}")
        try:
            replace_file(self.path, body)
        except OSError as error:
            raise HomeUnwritable(
                f"cannot write {self.path}: {error.strerror or error}; nothing was changed: see "
                "that its folder can be written and has room"
            ) from error

    def _text(self) -> tuple[str, bool]:
        """Return what the file says, and whether no other user may read it.

        Raises `OSError`, and `ValueError` for what is no file of ours.
        """
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        if self.path.is_symlink():
            raise ValueError("it is a link")
        file = os.open(self.path, flags)
        with os.fdopen(file, "rb") as opened:
            found = os.fstat(file)
            if not stat.S_ISREG(found.st_mode):
                raise ValueError("it is no file")
            if found.st_uid != os.geteuid():
                raise ValueError("it is another user's")
            body = opened.read(LARGEST + 1)
        if len(body) > LARGEST:
            raise ValueError(f"it has more than {LARGEST:,} bytes")
        return body.decode(), not found.st_mode & _OTHERS

    def _unsound(self, why: str) -> Overlaid:
        """Return that it cannot be used."""
        said = f"{self.path} is not used: {why}; mend or remove it, then run cortex stores list"
        return Overlaid(trouble=(said,), is_sound=False)


def put_entry(entries: Sequence[object], spec: StoreSpec) -> tuple[object, ...]:
    """Return entries in which a store is described so, where it stood or as the last."""
    names = [_name(each) for each in entries]
    at = names.index(spec.name) if spec.name in names else len(names)
    return (*entries[:at], schema.format_entry(spec), *drop_entry(entries[at + 1 :], spec.name))


def drop_entry(entries: Sequence[object], name: str) -> tuple[object, ...]:
    """Return entries without those of a name."""
    return tuple(each for each in entries if _name(each) != name)


def _name(entry: object) -> str:
    """Return the name of an entry; empty for what has none."""
    name = entry.get("name") if isinstance(entry, dict) else None
    return name if isinstance(name, str) else ""


@dataclass(frozen=True, slots=True)
class StoreChange:
    """What came of a change: the answer, and which stores there are now or are no more."""

    answer: dict[str, Any]
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
