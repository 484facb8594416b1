"""The registry: every operation exists once, as a function, and every door is derived from it.

An operation is a coroutine function of a `Call` and of its own parameters, which are JSON-shaped,
as its result is. Its signature is its schema: the control socket, the Python client, the commands
with their help, the pages of the manual, an OpenAPI operation and an MCP tool are made from it.
"""

from __future__ import annotations

import inspect
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, TypeVar, cast, get_type_hints

from cortex_actors.api import status
from cortex_actors.api.parameters import find_parameter, make_where
from cortex_actors.embedding.cache import Cache
from cortex_actors.errors import ActorAway, BadInput, Busy, CortexError, ModelChanged
from cortex_actors.federation.federation import Federation
from cortex_actors.pipeline.relations import Ruling
from cortex_actors.runtime.names import NamedActor, Names
from cortex_actors.storage.events import Publisher

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence

    from cortex_actors.bus.bus import Bus
    from cortex_actors.clock import Clock
    from cortex_actors.doctor.doctor import RoundTrip
    from cortex_actors.domain.agent import Caller
    from cortex_actors.domain.event import Event, Payload
    from cortex_actors.domain.hit import Recall
    from cortex_actors.domain.project import Project
    from cortex_actors.embedding.migrator import Migrator
    from cortex_actors.embedding.pool import Pool
    from cortex_actors.federation.roster import Roster
    from cortex_actors.federation.store import Question
    from cortex_actors.home import Home
    from cortex_actors.judging.judge import Judge
    from cortex_actors.memory.archivist import Archivist
    from cortex_actors.memory.custodian import AccessReporter, Custodian
    from cortex_actors.memory.librarian import Librarian
    from cortex_actors.memory.trail import Trail
    from cortex_actors.memory.village import Village
    from cortex_actors.pipeline.organiser import Organiser
    from cortex_actors.pipeline.resolver import Resolver
    from cortex_actors.runtime.tasks import TaskSupervisor
    from cortex_actors.schedule.scheduler import Scheduler
    from cortex_actors.settings import Settings
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.index.vectors import Vectors
    from cortex_actors.storage.ledger.actor import Connection, Ledger, Records
    from cortex_actors.storage.search.query import Where


T = TypeVar("T")

#: A topic, and what is published on it.
Said: TypeAlias = "tuple[str, Payload]"

#: What the front desk is called as the source of an event.
SOURCE = "cortex"

#: Times that a question is asked again: a migration ends, and an actor may crash meanwhile.
REPEATS = 3

#: Seconds for which an operation waits for the vector of a text.
EMBED_TIMEOUT = 60.0

#: Seconds of those for which a model may still be loading.
EMBED_PATIENCE = 20.0

#: Seconds `status` waits for one actor: it must answer while a branch restarts.
SOON = 2.0


@dataclass(frozen=True, slots=True)
class Actors:
    """The actors that others ask, each by its name."""

    archivist: NamedActor[Archivist]
    cache: NamedActor[Cache]
    custodian: NamedActor[Custodian]
    federation: NamedActor[Federation]
    judge: NamedActor[Judge]
    ledger: NamedActor[Ledger]
    librarian: NamedActor[Librarian]
    migrator: NamedActor[Migrator]
    organiser: NamedActor[Organiser]
    pool: NamedActor[Pool]
    resolver: NamedActor[Resolver]
    roster: NamedActor[Roster]
    scheduler: NamedActor[Scheduler]
    trail: NamedActor[Trail]
    vectors: NamedActor[Vectors]
    village: NamedActor[Village]

    @classmethod
    def from_tree(cls, names: Names) -> Actors:
        """Return them by their names in a tree."""
        return cls(**{each.name: NamedActor(each.name, names) for each in fields(cls)})


#: Memories and questions at once, of which one more is refused: each takes some 20 ms of CPU, so
#: that the last of them is answered after 3 s on two cores.
AT_ONCE: Final = 256


@dataclass(slots=True)
class TreeLife:
    """Since when a tree runs, and how late its loop is."""

    #: UTC microseconds, and seconds of the clock's `monotonic`.
    started_at: int
    begun: float
    #: Milliseconds; the daemon puts its gauge here.
    loop_lag: Callable[[], float] = field(default=lambda: 0.0)
    #: Memories that are being remembered and questions that are being answered.
    at_once: int = 0
    #: MCP sessions that are open on the control socket, and calls of each tool since the start.
    mcp_sessions: int = 0
    tool_calls: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Count one more of these while it lasts; raises `Busy` where there are too many."""
        if self.at_once >= AT_ONCE:
            raise Busy(
                f"the daemon is busy: {AT_ONCE} are remembered and recalled at the moment; nothing "
                "was done, so ask again in some seconds"
            )
        self.at_once += 1
        try:
            yield
        finally:
            self.at_once -= 1


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an operation: who asks, the actors by name, and what else operations use."""

    caller: Caller
    actors: Actors
    home: Home
    clock: Clock
    bus: Bus
    records: Records
    #: As they are now: a reload changes them.
    settings: Callable[[], Settings]
    #: The id of the vector space that answers now: a migration changes it.
    model: Callable[[], str]
    #: Tells the custodian which memories were read.
    accesses: AccessReporter
    #: Runs what outlives one message.
    tasks: TaskSupervisor
    #: Returns how changes of files are noticed: by project, and what is wrong with it.
    watching: Callable[[], Mapping[str, Any]]
    #: Returns the state of the HTTP server, soon or not at all.
    door: Callable[[], Awaitable[Mapping[str, Any]]]
    #: Runs all checks and repairs; see `desk.Practice.visit`.
    doctor: Callable[..., Awaitable[Mapping[str, Any]]]
    #: Remembers, recalls and forgets a probe, and has the outcome of the last trial.
    trial: RoundTrip
    tree: Callable[[], Mapping[str, Any]]
    crash: Callable[[str], None]
    inspect: Callable[[str], Mapping[str, Any]]
    reload: Callable[[], Awaitable[Mapping[str, Any]]]
    #: Lets a consumer look into the journal.
    wake: Callable[[str], object]
    life: TreeLife

    @property
    def publisher(self) -> Publisher:
        """Writes and publishes as the front desk."""
        return Publisher(self.bus, self.records, SOURCE)

    async def recall(self, question: Question) -> Recall:
        """Ask the federation; it takes as long as the slowest store may. Raises `Busy`."""
        ask = self.actors.federation.limit(None).ask
        with self.life.turn():
            return await ask_repeatedly(lambda: ask(Federation.recall, question))

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Embed texts with the model that answers now, before those that are not waited for."""
        return await self.actors.cache.limit(EMBED_TIMEOUT).ask(
            Cache.embed, texts, urgent=True, patience=EMBED_PATIENCE, model=self.model()
        )

    def load_ruling(self) -> Ruling:
        """Return by which thresholds insights are judged now."""
        return Ruling(self.settings().reconciliation, self.model(), self.home.rules)

    async def require_project(self, path: str) -> Project:
        """Return the followed project that a path, a name or an id means.

        Raises `UnknownProject`.
        """
        return await self.records.read(lambda c: status.find_project(c, path))

    async def require_project_id(self, path: str | None) -> str | None:
        """Return the id of a project that may not be meant; raises as `require_project` does."""
        return None if path is None else (await self.require_project(path)).id

    async def find_project(self, project: str | None, here: str | None) -> Project | None:
        """Return the project of a call: the one that it names, else that of the folder `here`.

        None where it names none with "", or the folder is of no project. Raises `UnknownProject`
        for a name, and `BadInput` for a folder that is not given by its whole path.
        """
        if project:
            return await self.require_project(project)
        if project is not None or not here:
            return None
        if not here.startswith("/"):
            raise BadInput(f"here must be the absolute path of a folder, not {here!r}")
        return await self.records.read(lambda c: status.find_project_around(c, here))

    async def make_conditions(
        self,
        project: str | None,
        here: str | None,
        *,
        as_agent: str | None,
        **narrow: Any,  # noqa: ANN401 - as they are declared
    ) -> tuple[Where, str | None]:
        """Return the conditions of a question, and the id of the project that is preferred."""
        found = await self.find_project(project, here)
        near = None if found is None else found.id
        narrow |= {
            "project_id": near if project else None,
            "reader": self.caller.choose_reader(as_agent),
        }
        return make_where(now=self.clock.now(), **narrow), near

    async def change(
        self, work: Callable[[Connection], T], *said: Said, dry_run: bool = False
    ) -> T:
        """Change something and publish it in one transaction; return what the change gave."""
        return await self.change_and_publish(lambda c: (work(c), said), dry_run=dry_run)

    async def change_and_publish(
        self, work: Callable[[Connection], tuple[T, Iterable[Said]]], *, dry_run: bool = False
    ) -> T:
        """Change something and publish what the change says, in one transaction.

        A dry run returns what the change gives, and leaves nothing behind.
        """

        def unit(connection: Connection) -> tuple[T, list[Event[Payload]]]:
            given, said = work(connection)
            if dry_run:
                raise _ForeseenError(given)
            return given, [self.publisher.make_event(*each) for each in said]

        try:
            return await self.publisher.write(unit)
        except _ForeseenError as foreseen:
            return cast("T", foreseen.given)


class _ForeseenError(CortexError):
    """Undoes a change that was only to be tried."""

    def __init__(self, given: object) -> None:
        """Remember what the change gave."""
        super().__init__("only looked at what would change")
        self.given = given


async def ask_repeatedly(ask: Callable[[], Awaitable[T]]) -> T:
    """Ask a question, and ask it again when the model changed or an actor ended meanwhile.

    A question changes nothing, so asking twice is safe.
    """
    for _ in range(REPEATS):
        with suppress(ActorAway, ModelChanged):
            return await ask()
    return await ask()


Run = TypeVar("Run", bound="Callable[..., Awaitable[Any]]")

#: What an operation takes that says `**narrow`: the conditions of `where` that a client may give.
_NARROWING: Final = [
    each
    for each in inspect.signature(make_where).parameters.values()
    if each.name not in {"now", "reader", "project_id"}
]


@dataclass(frozen=True)
class Operation:
    """One thing that a client may ask.

    Attributes:
        name: its name for REST, MCP and the manual: subject and verb, `memory.split`.
        run: the function; its first parameter is the `Call`.
        http: method and path in REST; GET says that nothing is changed.
        agents: whether agents may call it, too, who then see and change what is theirs.
        sessions: whether an agent's session on the owner's socket may call it (`Caller`). One that
            is not for agents is then done as the owner: it must tell nothing of memories.

    """

    name: str
    run: Callable[..., Awaitable[Any]]
    http: str
    agents: bool
    sessions: bool

    @property
    def method(self) -> str:
        """The name on the control socket and in the Python client: the function's."""
        return self.run.__name__

    @property
    def description(self) -> str:
        """What it does, returns and raises: the docstring."""
        return inspect.getdoc(self.run) or ""

    @cached_property
    def signature(self) -> inspect.Signature:
        """What a client may give; annotations are texts."""
        whole = inspect.signature(self.run)
        _call, *own = whole.parameters.values()
        if own and own[-1].kind is inspect.Parameter.VAR_KEYWORD:
            own[-1:] = _NARROWING
        return whole.replace(parameters=own)

    @property
    def hints(self) -> dict[str, Any]:
        """What the annotations of the parameters mean."""
        return get_type_hints(make_where) | get_type_hints(self.run)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the parameters (draft 2020-12)."""
        # For documents and gateways alone: a start of the daemon pays for none of the models.
        from pydantic import ConfigDict, Field, create_model  # noqa: PLC0415

        hints = self.hints
        fields: dict[str, Any] = {}
        for each in self.signature.parameters.values():
            default = ... if each.default is inspect.Parameter.empty else each.default
            field = Field(default, **find_parameter(self.method, each.name).constraints)
            fields[each.name] = (Annotated[hints[each.name], field], default)
        model = create_model(self.method, __config__=ConfigDict(extra="forbid"), **fields)
        return model.model_json_schema()


#: All operations by their names; modules of this package add theirs when they are imported.
OPERATIONS: Final[dict[str, Operation]] = {}


def operation(
    name: str, *, http: str, agents: bool = False, sessions: bool | None = None
) -> Callable[[Run], Run]:
    """Declare a function as an operation; see `Operation`. Raises `ValueError` for a name twice.

    Unless it says otherwise, a session may call what agents may call and what changes nothing.
    """
    allowed = (agents or http.startswith("GET ")) if sessions is None else sessions

    def declare(run: Run) -> Run:
        made = Operation(name, run, http, agents, allowed)
        if name in OPERATIONS or made.method in {each.method for each in OPERATIONS.values()}:
            raise ValueError(f"{name} ({made.method}) is declared twice")
        OPERATIONS[name] = made
        return run

    return declare
