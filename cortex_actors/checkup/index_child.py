"""The vector index while no daemon runs: opened in a child process, compared, and closed again.

Chroma's files may end the process that opens them, so it is never ours. Only whoever holds the
home's lock may do this: two clients on one folder lose vectors without a word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.checkup import index
from cortex_actors.domain.hit import Diagnosis, Repair, Severity
from cortex_actors.runtime.child import ChildProcess
from cortex_actors.storage.index import pending
from cortex_actors.storage.index.life import Generations, IndexLife
from cortex_actors.storage.index.vectors import COLLECTIONS
from cortex_actors.storage.index.verification import Verification

if TYPE_CHECKING:
    from cortex_actors.checkup.patient import Patient
    from cortex_actors.checkup.treatment import Query
    from cortex_actors.storage.index.life import Place
    from cortex_actors.storage.index.verification import Verdict


async def compared(patient: Patient, read: Query) -> list[Diagnosis]:
    """Return how the index that the ledger names compares with it. Raises `ConfigurationError`."""
    state = await read(pending.state)
    if state is None:
        return []
    settings = patient.settings.storage
    place = Generations(patient.home.index, settings, COLLECTIONS).place(state)
    if place.server is None and not place.folder.is_dir():
        return [_absent(place, begun=state.applied_seq > 0)]

    async def verify() -> Verdict:
        return await _verdict(place, patient, model=state.model, read=read)

    return await index.compared(verify, renews=False)


def _absent(place: Place, *, begun: bool) -> Diagnosis:
    """Return that a generation has no folder, which it need not have before it was `begun`."""
    if begun:
        text = f"the folder of generation {place.generation}, {place.folder}, is gone"
        return Diagnosis(index.CONTENT, text, Severity.WARNING, index.ANEW, Repair.INDEX)
    text = f"generation {place.generation} is built by the next start; exact search answers until"
    return Diagnosis(index.CONTENT, f"{text} it is there", Severity.NOTE, "cortex start")


async def _verdict(place: Place, patient: Patient, *, model: str, read: Query) -> Verdict:
    """Open a generation in a child and verify it; raises `IndexDown` for one that cannot be."""
    life = IndexLife(place, deadline=patient.settings.storage.index_timeout_s)
    try:
        await life.open(ChildProcess.spawn, _nobody)
        one = Verification(life.ask, read, model=model, deep=True)
        return await one.run(place.collections, patient.clock)
    finally:
        await life.close()
        await life.gone()


def _nobody(_line: str) -> None:
    """Hear what Chroma writes: what is wrong with its files is told by its answers."""
