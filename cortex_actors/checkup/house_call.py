"""The doctor while no daemon runs; whoever calls holds the home's lock."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from cortex_actors.checkup import index_child, rounds
from cortex_actors.checkup.patient import Patient
from cortex_actors.checkup.treatment import Ward
from cortex_actors.checkup.visit import Visit
from cortex_actors.clock import ulid
from cortex_actors.domain.event import Event
from cortex_actors.domain.hit import Diagnosis, Severity
from cortex_actors.errors import ConfigurationError
from cortex_actors.settings import Settings, load
from cortex_actors.storage.events import store
from cortex_actors.storage.health.file import Reader
from cortex_actors.storage.ledger import backups, offline
from cortex_actors.storage.ledger.files import Halt
from cortex_actors.topics import FILE_CHANGED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cortex_actors.checkup.rounds import Look
    from cortex_actors.clock import Clock
    from cortex_actors.domain.event import FileChanged, Payload
    from cortex_actors.home import Home
    from cortex_actors.storage.ledger.actor import Connection

#: What the doctor is called as the source of an event.
SOURCE = "doctor"


async def visit(home: Home, clock: Clock, *, repair: bool, thorough: bool) -> dict[str, Any]:
    """Return what is found in a home that no daemon runs in, and what was mended.

    See `checkup.visit.Visit`. Files that were missed are read by the next start; a new generation
    of the index is built by it, too.
    """
    backups.finish(home.ledger)
    settings, wrong = _settings(home)
    patient = Patient(home, settings, clock, online=False, thorough=thorough)
    call = _HouseCall(patient, wrong)
    one = Visit(call.look, call.compare, Ward(call.read, call.write, call.say), clock)
    return await one(repair=repair)


class _HouseCall:
    """The ways to a ledger that nobody has open."""

    def __init__(self, patient: Patient, wrong: list[Diagnosis]) -> None:
        """Look at nothing yet; `wrong` is what was found before."""
        self._patient = patient
        self._wrong = wrong
        self._halt = Halt()

    async def look(self) -> Look:
        """Run the checks."""
        found = await asyncio.to_thread(rounds.look, self._patient, self._halt)
        return found.with_more([*found.diagnoses, *self._wrong])

    async def compare(self, _look: Look) -> list[Diagnosis]:
        """Compare the index in a child process."""
        return await index_child.compared(self._patient, self.read)

    async def read(self, query: Callable[[Connection], Any]) -> Any:  # noqa: ANN401
        """Run a query."""
        return await asyncio.to_thread(self._ask, query)

    async def write(self, unit: Callable[[Connection], Any]) -> Any:  # noqa: ANN401
        """Commit a unit of work."""
        return await asyncio.to_thread(offline.commit, self._patient.home.ledger, unit)

    async def say(self, changed: Sequence[FileChanged]) -> None:
        """Store that files have changed, for the next start."""
        at = self._patient.clock.now()
        said: list[Event[Payload]] = [
            Event(f"evt_{ulid(at)}", FILE_CHANGED, each, at, SOURCE) for each in changed
        ]
        await self.write(partial(_stored, said))

    def _ask(self, query: Callable[[Connection], Any]) -> Any:  # noqa: ANN401
        """Run a query on a connection of its own (on a thread)."""
        with Reader(self._patient.home.ledger, self._patient.clock, self._halt) as reader:
            return reader.ask(query)


def _stored(said: Sequence[Event[Payload]], connection: Connection) -> int:
    """Store events, in the transaction of the connection."""
    return len(store(connection, said))


def _settings(home: Home) -> tuple[Settings, list[Diagnosis]]:
    """Return the settings a daemon would start with; the defaults and why, where it would not."""
    try:
        return load(home), []
    except ConfigurationError as error:
        text = f"no daemon starts with them: {error}"
        return Settings.model_construct(), [
            Diagnosis("settings", text, Severity.ERROR, f"mend {home.settings}")
        ]
