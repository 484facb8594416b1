"""The front desk: one method for each verb a client may say, whichever door it came through.

Parameters and results are JSON-shaped. There is no logic here: a verb looks a thing up, asks an
actor by name or publishes an event. Two clients that say the same verb get the same answer.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from cortex_actors import __version__, lookup, topics
from cortex_actors.domain.payload import Custom, FileChanged, Ids, ScanRequested
from cortex_actors.domain.project import Project
from cortex_actors.errors import BadInput, Refused, UnknownProject
from cortex_actors.parsers.dialect import dialect_of
from cortex_actors.storage import journal, projects

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from cortex_actors.bus.bus import Bus
    from cortex_actors.clock import Clock
    from cortex_actors.domain.event import Event
    from cortex_actors.domain.hit import Recall
    from cortex_actors.domain.payload import Payload
    from cortex_actors.home import Home
    from cortex_actors.storage.records import Connection, Records

T = TypeVar("T")

#: What the front desk is called as the source of an event.
SOURCE = "cortex"

#: Characters of a source: every record of the log in memory holds one, and there are thousands.
SOURCE_LIMIT = 200

#: The variable that allows verbs which exist to break things on purpose.
DEBUG = "CORTEX_DEBUG"


class Ask(Protocol):
    """Asks the federation."""

    def __call__(self, text: str, limit: int, project_id: str | None) -> Awaitable[Recall]:
        """Return what the stores know."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What the front desk is handed; everything behind an actor's name is a callable."""

    home: Home
    clock: Clock
    bus: Bus
    records: Records
    model: str
    recall: Ask
    #: What `status` counts in the ledger; like the two below, answered soon or not at all.
    counts: Callable[[], Awaitable[Mapping[str, Any]]]
    embedder: Callable[[], Awaitable[Mapping[str, Any]]]
    index: Callable[[], Awaitable[Mapping[str, Any]]]
    tree: Callable[[], Mapping[str, Any]]
    crash: Callable[[str], None]
    inspect: Callable[[str], Mapping[str, Any]]


class Cortex:
    """Everything a client may ask of the daemon."""

    def __init__(self, parts: Parts) -> None:
        """Begin to count the uptime."""
        self._parts = parts
        self._started_at = parts.clock.now()
        self._begun = parts.clock.monotonic()
        #: Milliseconds the loop is late; the daemon puts its gauge here.
        self.loop_lag: Callable[[], float] = lambda: 0.0

    async def status(self) -> dict[str, Any]:
        """Return how the daemon is; `reasons` says why it is degraded.

        While the ledger restarts, the numbers are left out.
        """
        parts = self._parts
        ledger, model, index = await asyncio.gather(
            lookup.guarded(parts.counts()),
            lookup.guarded(parts.embedder()),
            lookup.guarded(parts.index()),
        )
        reasons = lookup.reasons(ledger, model, index)
        return {
            "state": "degraded" if reasons else "running",
            "reasons": reasons,
            "version": __version__,
            "pid": os.getpid(),
            "home": str(parts.home.root),
            "started_at": self._started_at,
            "uptime_s": round(parts.clock.monotonic() - self._begun, 3),
            **({} if ledger.get("state") == "away" else ledger),
            "model": model,
            "index": index,
            "loop_lag_ms": round(self.loop_lag(), 3),
        }

    async def tree(self) -> dict[str, Any]:
        """Return the live supervision tree, as data and drawn."""
        return dict(self._parts.tree())

    async def publish(
        self,
        topic: str,
        payload: dict[str, Any],
        *,
        source: str = "client",
        transient: bool = False,
    ) -> dict[str, Any]:
        """Say an event for another process; return once it is durable, unless it is transient.

        Raises `UnknownTopic`, `BadInput` for the payload, `Refused` for a topic that only the
        daemon may say, `UnknownProject` for a path under no project.
        """
        if topics.find(topic).owner_only:
            message = (
                f"refused to publish {topic}: only the daemon says it; the topics you may say are "
                "listed by: cortex topics"
            )
            raise Refused(message)
        _refuse_misshapen(topic, payload, source)
        given = await self._completed(topic, payload)
        said = topics.parse(topic, given)
        if isinstance(said, FileChanged):
            await self._admit(said)
        event = await self._parts.bus.publish(topic, said, source=source, durable=not transient)
        return {"id": event.id, "topic": topic, "seq": event.seq}

    def publish_now(
        self,
        topic: str,
        payload: dict[str, Any],
        *,
        source: str = "client",
        transient: bool = False,
    ) -> dict[str, Any] | None:
        """Do what `publish` does, if nobody has to be waited for; else None, and nothing is said.

        That is so for a transient event of another process's own, while every mailbox has room.
        Raises `BadInput` as `publish` does.
        """
        if transient is not True or topics.find(topic).payload is not Custom:
            return None
        _refuse_misshapen(topic, payload, source)
        said = Custom(dict(payload))
        event = self._parts.bus.publish_now(topic, said, source=source)
        return None if event is None else {"id": event.id, "topic": topic, "seq": None}

    async def topics(self) -> dict[str, Any]:
        """Return the catalogue of topics."""
        return {"topics": [lookup.topic(each) for each in topics.TOPICS]}

    async def add_project(self, path: str) -> dict[str, Any]:
        """Follow a project from now on; its files are read at once.

        Following a project again is fine, and mends whatever kept it from being watched. Raises
        `BadInput` for a path that is no folder, or one that holds much more than a project.
        """
        root = await asyncio.to_thread(lookup.root, path)
        project = Project.at(root, self._parts.clock.now())
        new = await self._commit(
            lambda c: projects.add(c, project), topics.PROJECT_ADDED, project.id
        )
        return {"id": project.id, "name": project.name, "root": root, "new": new}

    async def remove_project(self, path: str) -> dict[str, Any]:
        """Follow a project no longer; what it said stays known. Raises `UnknownProject`."""
        project = await self._project(path)
        await self._commit(
            lambda c: projects.remove(c, project.id), topics.PROJECT_REMOVED, project.id
        )
        return {"id": project.id, "name": project.name, "root": project.root}

    async def projects(self) -> dict[str, Any]:
        """Return the followed projects, and the files that could not be read."""
        return await self._parts.records.read(lookup.projects)

    async def scan(self, path: str | None = None) -> dict[str, Any]:
        """Read the files of one project again, or of all. Raises `UnknownProject`."""
        project_id = None if path is None else (await self._project(path)).id
        event = await self._parts.bus.publish(
            topics.SCAN_REQUESTED, ScanRequested(project_id), source=SOURCE
        )
        return {"id": event.id, "topic": event.topic, "seq": event.seq}

    async def insights(self, project: str | None = None, limit: int = 20) -> dict[str, Any]:
        """Return what was learned, most believed first. Raises `UnknownProject`, `BadInput`."""
        if limit < 1:
            message = f"cannot list {limit} insights; ask for 1 or more"
            raise BadInput(message)
        project_id = None if project is None else (await self._project(project)).id
        return await self._parts.records.read(lambda c: lookup.insights(c, project_id, limit))

    async def recall(
        self, query: str, limit: int = 5, project: str | None = None
    ) -> dict[str, Any]:
        """Return what the stores know about a question, best first, with provenance.

        Raises `BadInput`, `UnknownProject`, `EmbedderDown`.
        """
        project_id = None if project is None else (await self._project(project)).id
        found = await self._parts.recall(query, limit, project_id)
        left_out = await self._parts.records.read(lambda c: lookup.left_out(c, self._parts.model))
        return {
            "query": found.query,
            "hits": [asdict(hit) for hit in found.hits],
            "failed": [{"store": name, "reason": why} for name, why in found.failed],
            "skipped": [{"store": name, "reason": why} for name, why in found.skipped] + left_out,
            "took_ms": round(found.took_ms, 3),
        }

    async def inspect(self, name: str) -> dict[str, Any]:
        """Return what an actor is at and since when, or how a supervisor is; times in seconds.

        Raises `UnknownActor` naming those there are.
        """
        return dict(self._parts.inspect(name))

    async def crash(self, name: str) -> dict[str, Any]:
        """Make an actor crash, to see it come back. Raises `Refused` unless `CORTEX_DEBUG=1`."""
        if os.environ.get(DEBUG) != "1":
            message = (
                f"refused to crash {name}: this daemon was not started for debugging; "
                f"start it with {DEBUG}=1"
            )
            raise Refused(message)
        self._parts.crash(name)
        return {"crashed": name}

    async def _completed(self, topic: str, payload: dict[str, Any]) -> dict[str, Any]:
        """Return a payload with what follows from it: a path has one name and tells its project."""
        path = payload.get("path")
        if topic != topics.FILE_CHANGED or not isinstance(path, str):
            return payload
        given = {**payload, "path": await asyncio.to_thread(lookup.place, path)}
        if "project_id" not in given:
            given["project_id"] = (await self._project(given["path"])).id
        return given

    async def _admit(self, payload: FileChanged) -> None:
        """Raise for a path that is no instruction file, or not of the project it is said of."""
        project = await self._project(payload.path)
        if project.id != payload.project_id:
            message = f"{payload.path} lies in the project {project.id}, not {payload.project_id}"
            raise UnknownProject(message)
        if dialect_of(payload.path.removeprefix(project.root).lstrip("/")) is None:
            message = (
                f"{payload.path} is not the name of an instruction file; "
                "docs/cli.md lists them under cortex init"
            )
            raise BadInput(message)

    async def _project(self, path: str) -> Project:
        """Return the followed project that a path, a name or an id means."""
        return await self._parts.records.read(lambda c: lookup.project(c, path))

    async def _commit(self, work: Callable[[Connection], T], topic: str, project_id: str) -> T:
        """Change a project and say so, both in one transaction; return what the change gave."""
        event = self._parts.bus.event(topic, Ids((project_id,)), source=SOURCE)

        def unit(connection: Connection) -> tuple[T, list[Event[Payload]]]:
            return work(connection), journal.store(connection, [event])

        given, stored = await self._parts.records.write(unit)
        for each in stored:
            self._parts.bus.announce(each)
        return given


def _refuse_misshapen(topic: str, payload: object, source: object) -> None:
    """Raise `BadInput` for what another process may send in place of an object or a short text."""
    if not (isinstance(payload, dict) and isinstance(source, str)):
        raise BadInput(f"cannot publish {topic}: its payload must be an object, its source a text")
    if len(source) > SOURCE_LIMIT:
        message = f"cannot publish {topic}: its source has {len(source)} characters, "
        raise BadInput(f"{message}the limit is {SOURCE_LIMIT}; say who speaks, in short")
