"""Roster: the stores that can be asked, what each counts, and how each has been doing.

hears   -
says    store:added, store:removed, store:up, store:down
asks    ledger, vectors (through the stores, when a holder of a store asks it)
keeps   what a question asks, made of the register, and again after a crash; what is about to be
        said of a store (a crash loses it). What was turned, the connections and the counts are the
        register's and outlive it

Whether stores are there: each is asked what it is, and nothing that anybody wants to know.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from cortex_actors.domain.event import Ids
from cortex_actors.errors import CortexError, StoreDown
from cortex_actors.federation import schema
from cortex_actors.federation.answers import clean_document
from cortex_actors.federation.store import LOCAL, AskOutcome, Fan, RecallStore, StoreSpec
from cortex_actors.runtime.actor import AsyncioActor, deferred
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.sections import LONGEST_ASK, FederationSettings, TlsSettings
from cortex_actors.topics import STORE_ADDED, STORE_DOWN, STORE_REMOVED, STORE_UP

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from cortex_actors.bus.bus import Bus
    from cortex_actors.clock import Clock
    from cortex_actors.federation.changes import StoreChanges
    from cortex_actors.federation.registry import StoreChange

    #: What changes the stores: `lambda stores: stores.remove(name)`.
    Work = Callable[[StoreChanges], Awaitable[StoreChange]]


#: Characters of a store's own words about what is wrong that are shown.
SHOWN = 120


log = logging.getLogger("cortex.federation")

#: Seconds after which a store is tried again whose token the keyring did not give.
AGAIN = 30.0

#: Seconds for which a stop waits for what is about to be said, and for connections to close.
LAST = 2.0


class Roster(AsyncioActor):
    """Knows the stores. A store that fails is still asked: it may be back.

    Everything one question needs is one value, and a change puts another one in its place: no
    question sees half of a change. Changes take turns; questions do not wait for them.
    """

    #: A recall asks who there is and tells how that went: hundreds of recalls at once, then they
    #: wait.
    mailbox_limit = 1_000
    overflow = Overflow.BACK_PRESSURE

    def __init__(
        self,
        local: Callable[[str], Sequence[RecallStore]],
        bus: Bus,
        changes: StoreChanges,
        *,
        settings: FederationSettings,
        tls: TlsSettings,
        clock: Clock,
        load: Callable[[], Coroutine[Any, Any, None]],
    ) -> None:
        """Begin with what the register knows; `local` gives what is kept here, by `knobs.local`.

        `load` reads what a search keeps in memory, so that the first one does not.
        """
        super().__init__()
        self._local = local
        self._bus = bus
        self._changes = changes
        self._settings = settings
        self._tls = tls
        self._clock = clock
        self._load = load
        self._ready = asyncio.Event()
        self._turn, self._saying = asyncio.Lock(), asyncio.Lock()
        self._fan = Fan()
        self._again_at: float | None = None
        self._sweeping: asyncio.Task[None] | None = None

    def on_start(self) -> None:
        """Set the stores up, without holding up the start: a keyring may take its time."""
        self._changes.register.adopt(self._settings, self._tls)
        self.spawn(self._bring(), name="set up stores")
        self.spawn(self._load(), name="load the search")

    async def on_stop(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Say what is about to be said, and close every connection."""
        register = self._changes.register
        for name in tuple(register.bound):
            register.release(name)
        leaving, register.leaving = register.leaving, []
        try:
            async with asyncio.timeout(LAST):
                async with self._saying:  # what waits for it was there first
                    pass
                await asyncio.gather(*(each.close() for each in leaving))
        except TimeoutError:
            log.warning("not everything about stores was said and closed at the end")

    async def get_fan(self) -> Fan:
        """Return everything one question needs; the first one waits until the stores are set up."""
        await self._ready.wait()
        if self._again_at is not None and self._clock.monotonic() >= self._again_at:
            self._again_at = None
            self.spawn(self._bring(), name="set up stores again")
        return self._fan

    def note_outcomes(self, outcomes: Sequence[AskOutcome]) -> None:
        """Take down how some asks ended; what changed is said beside it, in order."""
        for name, is_up in self._changes.register.note_outcomes(outcomes, at=self._clock.now()):
            topic = STORE_UP if is_up else STORE_DOWN
            self.spawn(self._say(topic, (name,)), name=f"say {topic}")

    def describe(self) -> dict[str, Any]:
        """Return in short how the stores are."""
        register = self._changes.register
        active = register.list_active()
        return {
            "active": active,
            "local": list(register.local),
            "total": len(register.list_rows()),
            "down": [
                each.name for each in register.list_health() if each.reason and each.name in active
            ],
            "skipped": dict(register.unbindable),
            "trouble": list(register.faults),
        }

    def list_health(self) -> dict[str, Any]:
        """Return how each store has been doing."""
        return {"stores": [each.as_answer() for each in self._changes.register.list_health()]}

    def list_knobs(self) -> dict[str, Any]:
        """Return what may be turned: as it is, as the settings have it, and by default."""
        register, default = self._changes.register, FederationSettings()
        live, settings = register.knobs, register.settings
        return {
            "knobs": [
                {
                    "name": name,
                    "live": getattr(live, name),
                    "settings": getattr(settings, name),
                    "default": getattr(default, name),
                    "twiddled": getattr(live, name) != getattr(settings, name),
                }
                for name in schema.KNOBS
            ]
        }

    @deferred
    async def list_stores(self) -> dict[str, Any]:
        """Return every store and what may be turned; a file in trouble is looked at again."""
        await self._ready.wait()
        register = self._changes.register
        if register.trouble:
            await self._bring()
        return {
            "stores": register.list_rows(),
            "active": register.list_active(),
            "types": sorted(self._changes.binder.kinds),
            "knobs": {name: getattr(register.knobs, name) for name in schema.KNOBS},
            "turned": register.list_turned(),
            "tuned": register.list_tuned(),
            "supported_knobs": list(schema.KNOBS),
            "trouble": list(register.trouble),
        }

    @deferred
    async def change(self, work: Work) -> dict[str, Any]:
        """Do a change when it is its turn; raises as the method of `StoreChanges` that is called.

        The mailbox goes on meanwhile.
        """
        await self._ready.wait()
        async with self._turn:
            try:
                done = await work(self._changes)
                if self._changes.register.needs_binding():  # the file was edited by hand
                    await self._changes.bind_enabled()
            finally:
                self._swap()
        for topic, names in ((STORE_ADDED, done.added), (STORE_REMOVED, done.removed)):
            if names:
                await self._say(topic, names)
        return {**done.answer, "active": self._changes.register.list_active()}

    @deferred
    async def ping(self, name: str | None) -> dict[str, Any]:
        """Ask a store, or all that are enabled, whether it is there; raises `NotFound`."""
        await self._ready.wait()
        register = self._changes.register
        some = [
            register.find_spec(each) for each in ((name,) if name is not None else register.local)
        ]
        if name is None:
            some += [each for each in register.list_specs() if each.enabled]
        found = await asyncio.gather(*(self._pinged_one(each) for each in some))
        if register.unbindable.keys() & {each["name"] for each in found if each["ok"]}:
            await self._bring()
        return {"stores": list(found)}

    async def _pinged_one(self, spec: StoreSpec) -> dict[str, Any]:
        """Return what came of asking one store; one that is not set up is, for this once."""
        begun, says, reason = self._clock.monotonic(), dict[str, Any](), ""
        register = self._changes.register
        bound, once = register.bound.get(spec.name), None
        try:
            if spec.type != LOCAL:
                bound = bound or (once := await self._changes.binder.bind(spec))
                says = clean_document(await bound.store.ping(register.knobs.per_store_timeout_s))
        except StoreDown as error:
            reason = str(error)
            if said := getattr(error, "said", ""):
                words = clean_document({"said": " ".join(said[:SHOWN].split())})["said"]
                reason = f"{reason} ({words})"
        finally:
            if once is not None:
                await once.close()
        took = round((self._clock.monotonic() - begun) * 1_000, 3)
        return {"name": spec.name, "ok": not reason, "ms": took, "reason": reason, "says": says}

    async def _bring(self) -> None:
        """Set up all that is enabled, as the file and the register have it now."""
        async with self._turn:
            await self._changes.read()
            later = await self._changes.bind_enabled()
            self._again_at = self._clock.monotonic() + AGAIN if later else None
            self._swap()
        self._ready.set()

    def _swap(self) -> None:
        """Let the next question see what the register knows now."""
        register = self._changes.register
        self._fan = register.make_fan(self._local(register.knobs.local))
        if register.leaving and self._sweeping is None:
            self._sweeping = self.spawn(self._swept(), name="close stores")

    async def _swept(self) -> None:
        """Close stores that are not asked any more, once no question can use them."""
        register = self._changes.register
        while leaving := list(register.leaving):
            await self._clock.sleep(LONGEST_ASK)
            for each in leaving:
                await each.close()
            register.leaving = [each for each in register.leaving if each not in leaving]
        self._sweeping = None

    async def _say(self, topic: str, names: Sequence[str]) -> None:
        """Publish what became of some stores; a failure to do so is no reason to undo it."""
        async with self._saying:
            try:
                await self._bus.publish(topic, Ids(tuple(names)), source=self.actor_name)
            except CortexError as error:
                log.warning("%s of %s was not said: %s", topic, ", ".join(names), error)
