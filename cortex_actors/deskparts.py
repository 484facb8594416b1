"""What the front desk is handed: the way to everybody whom a verb asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from cortex_actors.bus.bus import Bus
    from cortex_actors.clock import Clock
    from cortex_actors.crumbverbs import TrailPort
    from cortex_actors.custodyverbs import CustodianPort
    from cortex_actors.doctor.probe import RoundTrip
    from cortex_actors.domain.hit import Recall
    from cortex_actors.federation.store import Question
    from cortex_actors.flowsections import OrganisationSettings, ResolutionSettings
    from cortex_actors.home import Home
    from cortex_actors.judgeverbs import JudgePort
    from cortex_actors.knowledgeverbs import LibrarianPort
    from cortex_actors.memorysections import MemorySettings
    from cortex_actors.modelverbs import Look, MigratorPort
    from cortex_actors.pipeline.relations import Ruling
    from cortex_actors.pipeline.synthesis import Supposed
    from cortex_actors.rememberverbs import ArchivistPort
    from cortex_actors.resolveverbs import ResolverPort
    from cortex_actors.schedule.jobs import Done
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.ledger.actor import Records
    from cortex_actors.storeverbs import RosterPort
    from cortex_actors.villageverbs import VillagePort


class Ask(Protocol):
    """Asks the federation."""

    def __call__(self, question: Question) -> Awaitable[Recall]:
        """Return what the stores know."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What the front desk is handed; everything behind an actor's name is a callable."""

    home: Home
    clock: Clock
    bus: Bus
    records: Records
    #: The id of the vector space that answers now: a migration changes it.
    model: Callable[[], str]
    recall: Ask
    #: Embeds texts with the model that answers now; somebody waits for it.
    embed: Callable[[Sequence[str]], Awaitable[Matrix]]
    #: By which thresholds insights are judged now: a reload changes them.
    ruling: Callable[[], Ruling]
    #: How principles are ranked and faded now, and linked.
    organisation: Callable[[], OrganisationSettings]
    #: What is brought into files, and whether a person is asked, as the settings are now.
    resolution: Callable[[], ResolutionSettings]
    #: Says what would come of an insight if it were promoted now.
    suppose: Callable[[str], Awaitable[Supposed]]
    #: Who judges where the rules leave it open, as the settings are now.
    judge: Callable[[], JudgePort]
    #: Who takes down which memories were read.
    custodian: CustodianPort
    #: How memories are found, and how they fade, as the settings are now.
    memory: Callable[[], MemorySettings]
    #: Who reads documents.
    librarian: LibrarianPort
    #: Who knows the stores.
    roster: RosterPort
    #: Who remembers.
    archivist: ArchivistPort
    #: Who keeps posts, and who keeps crumbs.
    village: VillagePort
    trail: TrailPort
    #: Who writes into instruction files.
    resolver: ResolverPort
    #: Whom to ask about embedding models.
    migrator: MigratorPort
    #: Finds out how the model that answers is, and its compiled form.
    look: Look
    #: What `status` counts in the ledger; like the two below, answered soon or not at all.
    counts: Callable[[], Awaitable[Mapping[str, Any]]]
    embedder: Callable[[], Awaitable[Mapping[str, Any]]]
    index: Callable[[], Awaitable[Mapping[str, Any]]]
    #: Which jobs of the schedule failed last; the newest backup and recovery.
    failing: Callable[[], Awaitable[Mapping[str, str]]]
    kept: Callable[[], Awaitable[Mapping[str, Any]]]
    #: What the door for other programs is at; answered soon or not at all.
    door: Callable[[], Awaitable[Mapping[str, Any]]]
    #: Returns how changes of files are noticed: by project, and what is wrong with it.
    watching: Callable[[], Mapping[str, Any]]
    #: What is done by the clock, and when; does one of those jobs now.
    schedule: Callable[[], Awaitable[Sequence[Mapping[str, Any]]]]
    run_job: Callable[[str], Awaitable[Done]]
    #: Copies the ledger, into `backups/` or to a path.
    backup: Callable[[str | None], Awaitable[Mapping[str, Any]]]
    #: Looks at everything, and mends; see `practice.Practice.visit`.
    doctor: Callable[..., Awaitable[Mapping[str, Any]]]
    #: Remembers, recalls and forgets a probe through the verbs, and knows how that went last.
    trial: RoundTrip
    tree: Callable[[], Mapping[str, Any]]
    crash: Callable[[str], None]
    inspect: Callable[[str], Mapping[str, Any]]
    reload: Callable[[], Awaitable[Mapping[str, Any]]]
    #: Lets a consumer look into the journal.
    wake: Callable[[str], object]
