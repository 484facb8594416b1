"""A roster over stores that a test invents: the real roster, its file, and the real federation."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cortex_actors.api.desk import FrontDesk
from cortex_actors.api.registry import Actors
from cortex_actors.bus.bus import Bus
from cortex_actors.domain.event import Ids
from cortex_actors.domain.hit import RankedHit
from cortex_actors.errors import StoreDown, StoreUnusable
from cortex_actors.federation.binding import Binder
from cortex_actors.federation.changes import StoreChanges
from cortex_actors.federation.credentials import Vault
from cortex_actors.federation.federation import Federation
from cortex_actors.federation.registry import Overlay, Register
from cortex_actors.federation.roster import Roster
from cortex_actors.federation.store import LOCAL, Answer, Question
from cortex_actors.runtime.actor import start_actor
from cortex_actors.runtime.names import NamedActor, Names
from cortex_actors.sections import FederationSettings, TlsSettings
from cortex_actors.storage.search.scope import ROOMS
from cortex_actors.testing import PATIENCE, ManualClock
from tests.bus.journal import MemoryJournal
from tests.fakes import partial_call
from tests.federation.support import Shelf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from cortex_actors.domain.event import Event, Payload
    from cortex_actors.domain.hit import Recall
    from cortex_actors.endpoint.connection import StoreConnection
    from cortex_actors.federation.answers import OutgoingQuestion
    from cortex_actors.federation.credentials import Ring
    from cortex_actors.federation.store import Fan, RecallStore, StoreSpec
    from cortex_actors.runtime.actor import ActorHandle
    from cortex_actors.storage.embeddings import Matrix

#: A store's address here; nothing is ever sent to it.
URL = "http://127.0.0.1:7420"


class Peer:
    """Speaks to a store that says one thing, or fails: what is in `FAILS` decides, by name."""

    most: ClassVar[int] = 50

    #: Name of a store -> what it raises.
    FAILS: ClassVar[dict[str, Exception]] = {}
    #: What a ping is told beside the service.
    SAYS: ClassVar[dict[str, Any]] = {}
    #: Every one that was made, in order.
    MADE: ClassVar[list[Peer]] = []

    def __init__(self, spec: StoreSpec, line: StoreConnection) -> None:
        """Refuse what it does not know."""
        if "strange" in spec.options:
            raise StoreUnusable("it has no option 'strange'; it knows: path")
        if "broken" in spec.options:
            raise ZeroDivisionError("nobody foresaw it")
        self.spec = spec
        self.line = line
        self.closed = 0
        self.MADE.append(self)

    async def search(self, asked: OutgoingQuestion) -> Answer:
        """Return one hit with the store's name in it."""
        if (error := self.FAILS.get(self.spec.name)) is not None:
            raise error
        name = self.spec.name
        return Answer((RankedHit(f"{name}-1", f"{name} says so", 0.5, name, trust="remote"),))

    async def ping(self, seconds: float) -> dict[str, Any]:
        """Return who it is."""
        assert seconds > 0
        if (error := self.FAILS.get(self.spec.name)) is not None:
            raise error
        return {"service": "peer", **self.SAYS}

    async def close(self) -> None:
        """Count it."""
        self.closed += 1


class House:
    """One home's roster; it may end and begin again, as after a crash or with other settings."""

    def __init__(
        self,
        folder: Path,
        *,
        ring: Callable[[], Ring | None] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        """Begin with an empty register; there is no keyring unless one is given.

        It is waited for `patience` seconds, longer than any thread takes to begin.
        """
        Peer.FAILS.clear()
        Peer.SAYS.clear()
        Peer.MADE.clear()
        self.file = folder / "runtime-stores.json"
        self.environ: dict[str, str] = {}
        self.vault = Vault(self.environ, ring=ring or (lambda: None), patience=patience)
        self.register = Register()
        self.clock = ManualClock()
        self.names = Names()
        self.journal = MemoryJournal(self.clock)
        self.bus = Bus(self.journal, self.clock)
        self.said: list[Event[Payload]] = []
        self.bus.subscribe("store:*", self.said.append)
        self.shelf = Shelf(LOCAL, ("a", 0.9), kind=LOCAL)
        actors = Actors.from_tree(self.names)
        self.verbs = FrontDesk(partial_call(actors=actors))
        self.port = actors.roster
        self._ask = partial(
            NamedActor[Any]("federation", self.names, timeout=10).ask, Federation.recall
        )
        self._handle: ActorHandle | None = None

    async def begin(
        self, *, tls: TlsSettings | None = None, federation: bool = False, **settings: Any
    ) -> House:
        """Start the roster with these settings, and the federation where it is wanted."""
        chosen, tls = FederationSettings(**settings), tls or TlsSettings()
        types: Any = {"peer": Peer, "other": Peer}
        binder = Binder(chosen, tls, clock=self.clock, vault=self.vault, kinds=types)
        changes = StoreChanges(self.register, Overlay(self.file), binder)
        given: Any = {"settings": chosen, "tls": tls, "clock": self.clock, "load": _no_search}
        self._handle = await start_actor(
            self.names, "roster", Roster, self._local, self.bus, changes, **given
        )
        if federation:
            given = {"model": "a model", "clock": self.clock, "settings": chosen}
            await start_actor(self.names, "federation", Federation, self.port, self._embed, **given)
        return self

    async def end(self, *, crash: bool = False) -> None:
        """End the roster, well or not."""
        assert self._handle is not None
        if crash:
            self._handle.kill()
            await self._handle.exited()
        else:
            await self._handle.stop(5)

    async def fan(self) -> Fan:
        """Return what a question would be asked with."""
        return await self.port.ask(Roster.get_fan)

    async def recall(self, text: str = "tabs", **more: Any) -> Recall:
        """Ask everything, through the federation."""
        found: Recall = await self._ask(Question(text, 10, **more))
        return found

    async def add(self, name: str = "mem", **more: Any) -> dict[str, Any]:
        """Add a store as a client does."""
        kind = more.pop("type", "peer")
        added: dict[str, Any] = await self.verbs.add_store(name, kind, URL, **more)
        return added

    async def row(self, name: str) -> dict[str, Any]:
        """Return what is told of a store."""
        rows = (await self.verbs.stores())["stores"]
        return next(each for each in rows if each["name"] == name)

    async def described(self) -> dict[str, Any]:
        """Return in short how the stores are."""
        return dict(await self.port.limit(5).ask(Roster.describe))

    async def health(self, name: str) -> dict[str, Any]:
        """Return how a store has been doing."""
        rows = (await self.verbs.store_health())["stores"]
        return next(each for each in rows if each["name"] == name)

    def kept(self) -> list[dict[str, Any]]:
        """Return what the file holds."""
        found: list[dict[str, Any]] = json.loads(self.file.read_text())
        return found

    @property
    def news(self) -> list[tuple[str, str]]:
        """What was said of the stores, in order."""
        pairs = [(event.topic.partition(":")[2], event.payload) for event in self.said]
        return [(how, name) for how, ids in pairs if isinstance(ids, Ids) for name in ids.ids]

    def _local(self, how: str) -> Sequence[RecallStore]:
        """Return what is kept here."""
        if how == "separate":
            return [Shelf(name, kind=LOCAL) for name in ROOMS]
        return [self.shelf]

    async def _embed(self, texts: Sequence[str], **_: object) -> Matrix:
        """Return a vector for each text."""
        return np.ones((len(texts), 4), dtype=np.float32)


def base(name: str = "facts", **more: Any) -> dict[str, Any]:
    """Return a store of the settings."""
    return {"name": name, "type": "peer", "url": URL, **more}


def names(fan: Fan) -> list[str]:
    """Return whom a question asks, in order."""
    return [each.store.name for each in fan.members]


def weights(fan: Fan) -> Mapping[str, float]:
    """Return what each counts."""
    return {each.store.name: each.weight for each in fan.members}


def away(reason: str = "refused") -> StoreDown:
    """Return how a store fails."""
    return StoreDown(reason)


async def _no_search() -> None:
    """Have nothing to read: the shelf keeps nothing in memory."""
