"""Operations on projects, the pipeline's runs and what is left to do, and scheduled jobs."""

from __future__ import annotations

import asyncio
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cortex_actors import topics
from cortex_actors.api import parameters, shapes, status
from cortex_actors.api.registry import SOURCE, Call, Said, operation
from cortex_actors.clock import make_ulid
from cortex_actors.domain import event
from cortex_actors.domain.project import Project, SourceKind, find_around
from cortex_actors.errors import BadInput, NotFound
from cortex_actors.files.repository import find_origin
from cortex_actors.pipeline.accumulator import NAMED
from cortex_actors.schedule.scheduler import Scheduler
from cortex_actors.storage import projects as stored
from cortex_actors.storage.pipeline import insight_lists, insights, reviews
from cortex_actors.watching.sweep import find_own_files as own_paths

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex_actors.storage.ledger.actor import Connection


T = TypeVar("T")


@operation("projects.add", http="POST /projects")
async def add_project(call: Call, path: str) -> dict[str, Any]:
    """Follow a project from now on; its files are read at once.

    Following a project again is fine, and mends whatever kept it from being watched. Raises
    `BadInput` for a path that is no folder, or one that holds much more than a project.
    """
    root = await asyncio.to_thread(status.resolve_root, path)
    project = Project.from_root(root, call.clock.now())
    origins = {project.id: await asyncio.to_thread(find_origin, root)}

    def add(connection: Connection) -> dict[str, bool]:
        new = stored.add(connection, project)
        stored.locate(connection, origins)
        taken = reviews.find(connection, SourceKind.PROJECT, project.id)
        return {"new": new, "revoked": taken is not None}

    found = await _commit(call, add, topics.PROJECT_ADDED, project.id)
    return {"id": project.id, "name": project.name, "root": root, **found}


@operation("projects.own", http="GET /projects/own")
async def own_files(call: Call) -> dict[str, Any]:
    """Say which instruction files of your own are in the home folder, and if they are followed.

    `followed` is null as long as it is not decided. The home is that of the daemon.
    """

    def look(connection: Connection) -> bool | None:
        ever = any(each.id == project.id for each in stored.list_ever(connection))
        followed = any(each.id == project.id for each in stored.list_followed(connection))
        return followed if ever else None

    project = await asyncio.to_thread(_own, call)
    files = await asyncio.to_thread(own_paths, project.root)
    followed = await call.records.read(look)
    return {"id": project.id, "root": project.root, "files": files, "followed": followed}


@operation("projects.follow-own", http="POST /projects/own")
async def follow_own(call: Call, on: bool) -> dict[str, Any]:
    """Follow the instruction files of your own in the home folder as the project `~`, or do not.

    No other file of the home is ever looked at. They are never written unasked.
    """
    project = await asyncio.to_thread(_own, call)
    origins = {project.id: await asyncio.to_thread(find_origin, project.root)}

    def decide(connection: Connection) -> bool:
        new = stored.add(connection, project)
        stored.locate(connection, origins)
        return new if on else stored.remove(connection, project.id) and not new

    topic = topics.PROJECT_ADDED if on else topics.PROJECT_REMOVED
    changed = await _commit(call, decide, topic, project.id)
    return {"id": project.id, "name": project.name, "root": project.root, "on": on, "new": changed}


def _own(call: Call) -> Project:
    """Return the project of the owner's own files. Blocks."""
    return Project.from_person(os.path.realpath(Path.home()), call.clock.now())


@operation("projects.remove", http="POST /projects/remove")
async def remove_project(call: Call, path: str) -> dict[str, Any]:
    """Stop following a project; its files stay as they are, and what was learned stays known.

    Raises `UnknownProject`.
    """
    project = await call.require_project(path)
    await _commit(call, lambda c: stored.remove(c, project.id), topics.PROJECT_REMOVED, project.id)
    return {"id": project.id, "name": project.name, "root": project.root}


@operation("projects.list", http="GET /projects")
async def projects(call: Call) -> dict[str, Any]:
    """List the projects that are followed, how each is watched, and files that cannot be read.

    `left_out` are the files in which another tool keeps lines up to date, which are not read.
    """
    found = await call.records.read(status.list_projects)
    modes = call.watching()["modes"]
    rows = [{**each, "watch_mode": modes.get(each["id"])} for each in found["projects"]]
    return {**found, "projects": rows}


@operation("projects.files", http="GET /projects/files")
async def project_files(call: Call, project: str) -> dict[str, Any]:
    """Show what was read of a project's files, and why one was not.

    `left_out` counts the lines of a file that another tool keeps up to date: they are not read.
    Raises `UnknownProject`.
    """
    found = await call.require_project(project)

    def look(connection: Connection) -> dict[str, Any]:
        said, others = stored.count_places(connection, found.id), stored.count_left_out(connection)
        rows = [
            {"statements": said.get(path, 0), "left_out": others.get(path, 0)}
            | shapes.shape_fields(state, "path", "error")
            for path, state in sorted(stored.load_files(connection, found.id).items())
        ]
        return {"insights": insights.count_by_project(connection).get(found.id, 0), "files": rows}

    return {**shapes.shape_dataclass(found, "added_at"), **await call.records.read(look)}


@operation("projects.scan", http="POST /scan")
async def scan(call: Call, path: str | None = None) -> dict[str, Any]:
    """Read the files of one project again, or of all. Raises `UnknownProject`."""
    project_id = await call.require_project_id(path)
    return await _request(call, topics.SCAN_REQUESTED, event.ScanRequested(project_id))


@operation("projects.rescan", http="POST /rescan")
async def rescan(call: Call, folder: str) -> dict[str, Any]:
    """Read every followed project again that holds a folder or lies below it.

    For hooks of other programs, which know that something has changed there and not what the
    projects are. A folder that has to do with none is fine. Raises `BadInput`.
    """
    root = await asyncio.to_thread(status.resolve_path, folder)
    if root is None:
        raise BadInput(f"there can be no folder {folder!r}; give an absolute path in UTF-8")
    followed = await call.records.read(stored.list_followed)
    found = find_around(followed, root)
    events = await call.bus.publish_all(
        [(topics.SCAN_REQUESTED, event.ScanRequested(each.id)) for each in found], source=SOURCE
    )
    return {"projects": [each.name for each in found], "seqs": [each.seq for each in events]}


@operation("insights.reconcile", http="POST /reconcile")
async def reconcile(call: Call, full: bool = False) -> dict[str, Any]:
    """Compare all insights with one another now, and weigh each of them again."""
    payload = event.ReconciliationRequested(full=full)
    return await _request(call, topics.RECONCILIATION_REQUESTED, payload)


@operation("principles.organise", http="POST /organise")
async def organise(call: Call) -> dict[str, Any]:
    """Distil principles from insights now."""
    return await _request(call, topics.ORGANISATION_REQUESTED, event.Nothing())


@operation("debug.runs", http="GET /runs")
async def runs(
    call: Call,
    kind: str | None = None,
    project: str | None = None,
    failed: bool = False,
    limit: int = 20,
) -> dict[str, Any]:
    """Show what the pipeline did, newest first: each run, its result, or why it failed.

    Raises `UnknownProject`, `BadInput` for a limit out
    of range, `NotFound` for a kind of which there is no run, naming those there are.
    """
    if limit < 1:
        raise BadInput(f"cannot list {limit} runs; ask for 1 or more")
    project_id = await call.require_project_id(project)

    def look(connection: Connection) -> dict[str, Any]:
        kinds, names = stored.list_kinds(connection), stored.load_names(connection)
        if kind is not None and kinds and kind not in kinds:
            raise NotFound(f"there is no run of {kind}; there are runs of {', '.join(kinds)}")
        found = stored.list_runs(
            connection, kind=kind, project_id=project_id, failed=failed, limit=limit
        )
        told = [{**asdict(each), "project": names.get(each.project_id or "")} for each in found]
        return {"kinds": kinds, "runs": told}

    return await call.records.read(look)


@operation("daemon.schedule", http="GET /jobs")
async def schedule(call: Call) -> dict[str, Any]:
    """List the jobs that run by the clock: how often, the last run and result, and the next run."""
    return {"jobs": [dict(each) for each in await call.actors.scheduler.ask(Scheduler.list_jobs)]}


@operation("daemon.run-job", http="POST /jobs/{job}")
async def run_job(call: Call, job: str) -> dict[str, Any]:
    """Do a job of the schedule now; return what it came to, once it has.

    One that is running is waited for. Raises `NotFound` naming the jobs there are, and what the
    job raises.
    """
    clock = call.clock
    begun = clock.monotonic()
    done = await call.actors.scheduler.limit(None).ask(Scheduler.run_now, job)
    return {"job": job, "said": done.said, "took_s": round(clock.monotonic() - begun, 3)}


async def _request(call: Call, topic: str, payload: event.Payload) -> dict[str, Any]:
    """Publish an event that requests a run; return its id, topic and number."""
    said = await call.bus.publish(topic, payload, source=SOURCE)
    return {"id": said.id, "topic": said.topic, "seq": said.seq}


async def _commit(call: Call, work: Callable[[Connection], T], topic: str, project_id: str) -> T:
    """Change a project and say so, both in one transaction; return what the change gave.

    What it says is compared again: only projects that are followed contradict themselves or differ.
    """
    run_id = f"run_{make_ulid(call.clock.now())}"

    def unit(connection: Connection) -> tuple[T, list[Said]]:
        given, ids = work(connection), sorted(insights.list_ids(connection, project_id))
        said: list[Said] = [(topic, event.Ids((project_id,)))]
        for some in event.split_ids(ids, NAMED):
            done = event.AccumulationComplete(run_id, project_id, some)
            said.append((topics.ACCUMULATION_COMPLETE, done))
        return given, said

    return await call.change_and_publish(unit)


@operation("insights.fragments", http="GET /fragments")
async def fragments(
    call: Call,
    project: str | None = None,
    limit: int = 20,
    *,
    path: str | None = None,
    skip: int = 0,
) -> dict[str, Any]:
    """Show the parts of instruction files, and the state of what each part says.

    Raises `UnknownProject`, `BadInput`.
    """
    parameters.check_page(limit, skip, of="fragments")
    project_id = await call.require_project_id(project)

    def look(connection: Connection) -> dict[str, Any]:
        found, total = insight_lists.list_fragments(
            connection, project_id=project_id, path=path, limit=limit, skip=skip
        )
        return {"total": total, "fragments": found}

    return await call.records.read(look)


@operation("daemon.pace", http="GET /pace")
async def pace(call: Call) -> dict[str, Any]:
    """Return how much there is still to do: scans, files, texts without a vector, and others.

    A progress bar asks this again and again.
    """
    model = call.model()
    return await call.records.read(lambda c: stored.count_waiting(c, model))
