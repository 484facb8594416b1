"""The verbs about work: projects, reading, weighing, the audit of it, and what the clock does.

The verbs about many at once: clusters of insights, fragments of files, and what is to do.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from cortex_actors import topics
from cortex_actors.api import registry, shapes, status
from cortex_actors.api.registry import SOURCE, Verbs
from cortex_actors.domain.event import Ids, Nothing, ReconciliationRequested, ScanRequested
from cortex_actors.domain.insight import NO_DOMAIN, ClusterSort, FragmentSort
from cortex_actors.domain.project import Project, SourceKind, around
from cortex_actors.errors import BadInput, NotFound
from cortex_actors.files.repository import origin
from cortex_actors.schedule.scheduler import Scheduler
from cortex_actors.storage import contradictions, insight_lists, projects, reviews
from cortex_actors.storage.insight_lists import Named, find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cortex_actors.domain.event import Payload
    from cortex_actors.storage.contradictions import Cluster
    from cortex_actors.storage.ledger.actor import Connection


T = TypeVar("T")


class WorkVerbs(Verbs):
    """Part of the front desk."""

    async def add_project(self, path: str) -> dict[str, Any]:
        """Follow a project from now on; its files are read at once.

        Following a project again is fine, and mends whatever kept it from being watched. Raises
        `BadInput` for a path that is no folder, or one that holds much more than a project.
        """
        root = await asyncio.to_thread(status.root, path)
        project = Project.at(root, self._parts.clock.now())
        origins = {project.id: await asyncio.to_thread(origin, root)}

        def add(connection: Connection) -> dict[str, bool]:
            new = projects.add(connection, project)
            projects.locate(connection, origins)
            taken = reviews.find(connection, SourceKind.PROJECT, project.id)
            return {"new": new, "revoked": taken is not None}

        found = await self._commit(add, topics.PROJECT_ADDED, project.id)
        return {"id": project.id, "name": project.name, "root": root, **found}

    async def remove_project(self, path: str) -> dict[str, Any]:
        """Follow a project no longer; what it said stays known. Raises `UnknownProject`."""
        project = await self._project(path)
        await self._commit(
            lambda c: projects.remove(c, project.id), topics.PROJECT_REMOVED, project.id
        )
        return {"id": project.id, "name": project.name, "root": project.root}

    async def projects(self) -> dict[str, Any]:
        """Return the followed projects, how each is watched, and what could not be read."""
        found = await self._parts.records.read(status.projects)
        modes = self._parts.watching()["modes"]
        rows = [{**each, "watch_mode": modes.get(each["id"])} for each in found["projects"]]
        return {**found, "projects": rows}

    async def scan(self, path: str | None = None) -> dict[str, Any]:
        """Read the files of one project again, or of all. Raises `UnknownProject`."""
        project_id = await self._project_id(path)
        return await self._request(topics.SCAN_REQUESTED, ScanRequested(project_id))

    async def rescan(self, folder: str) -> dict[str, Any]:
        """Read every followed project again that holds a folder or lies below it.

        For hooks of other programs, which know that something has changed there and not what the
        projects are. A folder that has to do with none is fine. Raises `BadInput`.
        """
        root = await asyncio.to_thread(status.real, folder)
        if root is None:
            raise BadInput(f"there can be no folder {folder!r}; give an absolute path in UTF-8")
        followed = await self._parts.records.read(projects.followed)
        found = around(followed, root)
        events = await self._parts.bus.publish_all(
            [(topics.SCAN_REQUESTED, ScanRequested(each.id)) for each in found], source=SOURCE
        )
        return {
            "projects": [each.name for each in found],
            "seqs": [event.seq for event in events],
        }

    async def reconcile(
        self,
        full: bool = False,  # noqa: FBT001, FBT002 - named by every client
    ) -> dict[str, Any]:
        """Compare and weigh all insights now; `full` forgets clusters and begins from nothing."""
        payload = ReconciliationRequested(full=full)
        return await self._request(topics.RECONCILIATION_REQUESTED, payload)

    async def organise(self) -> dict[str, Any]:
        """Distil principles now."""
        return await self._request(topics.ORGANISATION_REQUESTED, Nothing())

    async def runs(
        self,
        kind: str | None = None,
        project: str | None = None,
        failed: bool = False,  # noqa: FBT001, FBT002 - named by every client
        limit: int = 20,
    ) -> dict[str, Any]:
        """Return the newest runs of the pipeline, newest first: what each did, or why it failed.

        `kind` is an actor's name, or `digest`. Raises `UnknownProject`, `BadInput` for a limit out
        of range, `NotFound` for a kind of which there is no run, naming those there are.
        """
        if limit < 1:
            raise BadInput(f"cannot list {limit} runs; ask for 1 or more")
        wanted = projects.Wanted(
            kind=kind, project_id=await self._project_id(project), failed=failed, limit=limit
        )
        return await self._parts.records.read(partial(_runs, wanted=wanted))

    async def schedule(self) -> dict[str, Any]:
        """Return what is done by the clock: how often, the last run, and when the next one is."""
        return {"jobs": [dict(each) for each in await self._actors.scheduler.ask(Scheduler.table)]}

    async def run_job(self, job: str) -> dict[str, Any]:
        """Do a job of the schedule now; return what it came to, once it has.

        One that is in hand is waited for. Raises `NotFound` naming the jobs there are, and whatever
        the job raises.
        """
        clock = self._parts.clock
        begun = clock.monotonic()
        done = await self._actors.scheduler.within(None).ask(Scheduler.run_now, job)
        return {"job": job, "said": done.said, "took_s": round(clock.monotonic() - begun, 3)}

    async def _request(self, topic: str, payload: Payload) -> dict[str, Any]:
        """Say an event that has somebody do something; return what a publisher is told of it."""
        event = await self._parts.bus.publish(topic, payload, source=SOURCE)
        return {"id": event.id, "topic": event.topic, "seq": event.seq}

    async def _commit(self, work: Callable[[Connection], T], topic: str, project_id: str) -> T:
        """Change a project and say so, both in one transaction; return what the change gave."""
        event = self._parts.bus.event(topic, Ids((project_id,)), source=SOURCE)
        return await self._change(work, event)


def _runs(connection: Connection, *, wanted: projects.Wanted) -> dict[str, Any]:
    """Return runs as a client gets them. Raises `NotFound`."""
    kinds = projects.kinds(connection)
    if wanted.kind is not None and kinds and wanted.kind not in kinds:
        known = ", ".join(kinds)
        raise NotFound(f"there is no run of {wanted.kind}; there are runs of {known}")
    names = projects.names(connection)
    return {
        "kinds": kinds,
        "runs": [
            {**asdict(each), "project": names.get(each.project_id or "")}
            for each in projects.listed(connection, wanted)
        ],
    }


#: What comes first in each order of clusters.
_ORDERS: dict[ClusterSort, Callable[[Cluster], tuple[float, ...]]] = {
    ClusterSort.SIZE: lambda each: (-len(each.members), -each.coherence),
    ClusterSort.COHERENCE: lambda each: (-each.coherence,),
    ClusterSort.LOOSE: lambda each: (each.coherence,),
    ClusterSort.NEWEST: lambda each: (-each.made_at,),
}


class GroupVerbs(Verbs):
    """Part of the front desk."""

    async def clusters(
        self,
        project: str | None = None,
        limit: int = 20,
        *,
        domain: str | None = None,
        search: str = "",
        size: int = 2,
        coherence: float | None = None,
        sort: str = "size",
        skip: int = 0,
    ) -> dict[str, Any]:
        """Return insights that say nearly the same, grouped, with the one in the middle first.

        `size` is the least number of members, `coherence` their least mean cosine, `domain` that of
        a member, `search` words that one member holds. Raises `UnknownProject`, `BadInput`.
        """
        registry.page(limit, skip, of="clusters")
        least = registry.share(coherence, what="the least coherence") or 0.0
        order = _ORDERS[registry.chosen(ClusterSort, sort, what="order") or ClusterSort.SIZE]
        project_id = await self._project_id(project)
        words = search.lower().split()

        def look(connection: Connection) -> dict[str, Any]:
            every = contradictions.list_clusters(connection, project_id=project_id)
            some = [e for e in every if len(e.members) >= size and e.coherence >= least]
            if domain is not None or words:
                some = _speaking(connection, some, domain=domain, words=words)
            found = sorted(some, key=lambda each: (*order(each), each.id))[skip : skip + limit]
            return {"total": len(some), "clusters": _shaped(connection, found)}

        return await self._parts.records.read(look)

    async def cluster(self, cluster: str) -> dict[str, Any]:
        """Return one cluster, by its id or the beginning of it. Raises `NotFound`, `BadInput`."""

        def look(connection: Connection) -> dict[str, Any]:
            found = contradictions.get_cluster(connection, find(connection, Named.CLUSTER, cluster))
            return _shaped(connection, [found] if found else [])[0]

        return await self._parts.records.read(look)

    async def fragments(
        self,
        project: str | None = None,
        limit: int = 20,
        *,
        path: str | None = None,
        sort: str = "path",
        skip: int = 0,
    ) -> dict[str, Any]:
        """Return the parts of instruction files, and how much of what each says stands how.

        `path` is a file or a folder. Raises `UnknownProject`, `BadInput`.
        """
        registry.page(limit, skip, of="fragments")
        order = registry.chosen(FragmentSort, sort, what="order") or FragmentSort.PATH
        project_id = await self._project_id(project)

        def look(connection: Connection) -> dict[str, Any]:
            found = insight_lists.list_fragments(
                connection, project_id=project_id, path=path, sort=order, limit=limit, skip=skip
            )
            total = insight_lists.count_fragments(connection, project_id=project_id, path=path)
            return {"total": total, "fragments": [asdict(each) for each in found]}

        return await self._parts.records.read(look)

    async def pace(self) -> dict[str, Any]:
        """Return how much there is still to do: scans, files, texts without a vector, and others.

        A progress bar asks this again and again.
        """
        model = self._parts.model()
        return asdict(await self._parts.records.read(lambda c: projects.waiting(c, model)))


def _speaking(
    connection: Connection, some: Iterable[Cluster], *, domain: str | None, words: list[str]
) -> list[Cluster]:
    """Return the clusters with a member of that domain that holds those words."""
    every = list(some)
    said = shapes.brief_insights(connection, [name for each in every for name in each.members])
    wanted = None if domain == NO_DOMAIN else domain

    def fits(name: str) -> bool:
        member = said.get(name)
        if member is None or (domain is not None and member["domain"] != wanted):
            return False
        return all(word in member["content"].lower() for word in words)

    return [each for each in every if any(fits(name) for name in each.members)]


def _shaped(connection: Connection, some: Iterable[Cluster]) -> list[dict[str, Any]]:
    """Return clusters as clients get them: members with what they say, the middle one first."""
    every = list(some)
    said = shapes.brief_insights(connection, [name for each in every for name in each.members])
    return [
        {
            **asdict(each),
            "members": [
                said[name]
                for name in sorted(each.members, key=lambda name: (name != each.medoid_id, name))
                if name in said
            ],
        }
        for each in every
    ]
