"""The doctor as the daemon has it: looks on a thread of its own, mends through the ledger's writer.

One call at a time; the next one waits. A caller holds up no other work: the ledger is read on
connections of its own, and the index is asked in small pieces by the actor that owns it.
"""

from __future__ import annotations

import asyncio
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from cortex_actors.doctor import checks, models
from cortex_actors.doctor.doctor import SOURCE, RoundTrip, Ward, examine
from cortex_actors.errors import ActorAway, IndexDown
from cortex_actors.runtime.threads import Threads
from cortex_actors.storage.health.file import LedgerReader
from cortex_actors.storage.index import pending
from cortex_actors.storage.index.life import Generations
from cortex_actors.storage.index.vectors import COLLECTIONS, Vectors
from cortex_actors.storage.ledger.files import Halt
from cortex_actors.storage.memory import memory_delete
from cortex_actors.topics import FILE_CHANGED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cortex_actors.api.registry import Actors
    from cortex_actors.assembly.context import World
    from cortex_actors.bus.bus import Bus
    from cortex_actors.doctor.checks import CheckRound
    from cortex_actors.domain.event import FileChanged
    from cortex_actors.domain.hit import Diagnosis
    from cortex_actors.settings import Settings
    from cortex_actors.storage.ledger.actor import Connection, Records


@dataclass(eq=False)
class Practice:
    """Answers `cortex doctor` in a daemon."""

    world: World
    bus: Bus
    _: KW_ONLY
    actors: Actors
    records: Records
    #: Gives the settings that hold when it is asked.
    settings: Callable[[], Settings]

    def __post_init__(self) -> None:
        """Look at nothing yet."""
        left = partial(self.records.read, memory_delete.list_probes)
        #: Tries the verbs in earnest; what it found last is part of every visit.
        self.trial = RoundTrip(left, self.world.clock)
        self._vectors = self.actors.vectors
        self._threads = Threads("doctor", 1)
        self._halt = Halt()
        self._one_at_a_time = asyncio.Lock()
        #: The generation whose folder was gone and that is on its way out; 0 for none.
        self._given_up = 0

    async def visit(self, *, repair: bool = False, thorough: bool = False) -> dict[str, Any]:
        """Return what is found, and what was mended; takes seconds. Raises `LedgerDown` at a stop.

        See `doctor.examine`.
        """
        patient = models.Patient(
            self.world.home, self.settings(), self.world.clock, online=True, thorough=thorough
        )
        ward = Ward(self._read, self.records.write, self._say, renew=self._begin_anew)
        look, clock = partial(self._look, patient), self.world.clock
        async with self._one_at_a_time:
            return await examine(ward, look, compare=self._compare, clock=clock, repair=repair)

    def close(self) -> None:
        """Break off what is looked at, for good."""
        self._halt.ask()
        self._threads.close()

    async def _look(self, patient: models.Patient) -> CheckRound:
        """Run the checks on the thread."""
        found: CheckRound = await self._threads.run(checks.run_checks, patient, self._halt)
        return replace(found, diagnoses=[*found.diagnoses, self.trial.as_diagnosis()])

    async def _compare(self) -> list[Diagnosis]:
        """Have the index compared by the actor that owns it, which renews one that is not good."""
        if lost := await self._lost():
            return [lost]
        # Takes as long as it takes.
        verify = partial(self._vectors.limit(None).ask, Vectors.verify)
        return await models.compare_index(verify, renews=True)

    async def _lost(self) -> Diagnosis | None:
        """Return that the generation that answers has lost its folder; None where it has not."""
        try:
            answering = await self._vectors.ask(Vectors.require_generation)
        except (IndexDown, ActorAway):
            return None
        state = await self._read(pending.load_state)
        if state is None or state.generation != answering or answering == self._given_up:
            return None
        settings = self.settings().storage
        place = Generations(self.world.home.index, settings, COLLECTIONS).find_place(state)
        return await self._threads.run(models.check_folder, place)

    async def _read(self, query: Callable[[Connection], Any]) -> Any:  # noqa: ANN401
        """Run a query on the thread."""
        return await self._threads.run(self._ask, query)

    def _ask(self, query: Callable[[Connection], Any]) -> Any:  # noqa: ANN401
        """Run a query on a connection of its own (on the thread)."""
        with LedgerReader(self.world.home.ledger, self.world.clock, self._halt) as reader:
            return reader.ask(query)

    async def _say(self, changed: Sequence[FileChanged]) -> None:
        """Say that files have changed."""
        await self.bus.publish_all([(FILE_CHANGED, each) for each in changed], source=SOURCE)

    async def _begin_anew(self) -> None:
        """Begin a new generation of the index."""
        state = await self._read(pending.load_state)
        self._given_up = state.generation if state else 0
        await self._vectors.ask(Vectors.renew, "cortex doctor --repair")
