"""The verbs that bring what is known into instruction files, and take it out of them again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex_actors import topics
from cortex_actors.api import status
from cortex_actors.api.parameters import chosen
from cortex_actors.api.registry import Call, operation
from cortex_actors.api.shapes import all_fields, fields_of
from cortex_actors.clock import ulid
from cortex_actors.domain.agent import OWNER
from cortex_actors.domain.event import Nothing, OrganisationComplete
from cortex_actors.domain.principle import Edits, Unwritten, Wish
from cortex_actors.domain.project import Approval, Decision, Way, innermost
from cortex_actors.errors import BadInput, FolderMissing, UnknownProject
from cortex_actors.pipeline import reading
from cortex_actors.pipeline.resolver import Resolver
from cortex_actors.render import section
from cortex_actors.storage import principles, projects, resolutions, reviews

if TYPE_CHECKING:
    from cortex_actors.api.registry import Said
    from cortex_actors.domain.principle import Resolved
    from cortex_actors.domain.project import Project
    from cortex_actors.storage.ledger.actor import Connection

#: For whom a text is made where nobody says it and no file does.
USUAL = "claude"


@operation("resolve", http="POST /resolve")
async def resolve(
    call: Call,
    path: str | None = None,
    agent: str | None = None,
    *,
    dry_run: bool = False,
    everything: bool = False,
    create: bool = False,
    adopt: bool = False,
    edited: str | None = None,
    metadata: bool = False,
    text_only: bool = False,
    approve: Sequence[str] = (),
) -> dict[str, Any]:
    """Write what other projects taught into instruction files, in a section of its own.

    `path` is a file, a folder in a project, or a project's name or id; `everything` means all
    projects. `edited` is `keep` or `discard`: what becomes of what a human wrote inside our
    section. `text_only` returns the section and writes nothing, as for an agent without files.
    `approve` are ids of principles that a person has accepted in the diff of a dry run: nothing
    else is written that nobody has approved, and nothing is approved by a dry run.
    A file that may not be written is in the answer with the reason, and so is, of all projects,
    one whose folder is gone. Raises `FolderMissing` where only that one is meant,
    `UnknownProject`, `NotFound` for an agent, `BadInput` for a file that nobody reads.
    """
    if (path is None) is not everything:
        raise BadInput("say what to resolve: a path, or everything, and not both")
    has_no_file = agent is not None and not section.find(agent).places
    wish = Wish(
        "",
        agent,
        dry_run=dry_run,
        create=create,
        adopt=adopt,
        edits=chosen(Edits, edited, what="way to deal with edits"),
        metadata=metadata,
        text_only=text_only or has_no_file,
    )
    wishes, gone = await _wishes(call, wish, path)
    if approve and not dry_run:
        await _accept(call, approve)
    found = await call.actors.resolver.within(None).ask(Resolver.resolve, wishes)
    return {
        "files": [_shaped(each) for each in found.files],
        "left": [asdict(each) for each in (*gone, *found.left)],
    }


async def _accept(call: Call, names: Sequence[str]) -> None:
    """Note that a person accepted a diff with those principles; those that are gone are not."""
    now = call.clock.now()

    def work(connection: Connection) -> tuple[None, Sequence[Said]]:
        known = principles.by_ids(connection, names)
        for each in known:
            said = Approval(each, Decision.APPROVED, now, OWNER.by, Way.DIFF)
            reviews.decide_approval(connection, said)
        done = OrganisationComplete(f"run_{ulid(now)}", tuple(sorted(known)))
        return None, [(topics.ORGANISATION_COMPLETE, done)]

    await call.change_and_publish(work)


@operation("resolve.undo", http="POST /resolve/undo")
async def undo_resolution(call: Call, path: str) -> dict[str, Any]:
    """Take back the newest write into an instruction file; what a person wrote since stays.

    Of a project it is the one file that has a section of ours. Raises a refusal, `BadInput`
    where several have one, `UnknownProject`.
    """
    project, place = await _target(call, path)
    if place == project.root:
        place = await call.records.read(lambda c: _only(c, project))
    return _shaped(await call.actors.resolver.within(None).ask(Resolver.undo, place))


@operation("projects.auto", http="POST /projects/auto")
async def set_auto(call: Call, project: str, on: bool) -> dict[str, Any]:
    """Write a project's instruction files whenever something new is known, or stop that.

    Once it is on, what is known is brought into them at once. Raises `UnknownProject`.
    """
    found = await call.project(project)
    said = [(topics.ORGANISATION_REQUESTED, Nothing())] if on else []
    new = await call.change(lambda c: projects.let_resolve(c, found.id, on=on), *said)
    return {"id": found.id, "name": found.name, "root": found.root, "auto": on, "new": new}


async def _wishes(call: Call, wish: Wish, path: str | None) -> tuple[list[Wish], list[Unwritten]]:
    """Return a wish for each project or file that is meant, and the projects that are gone.

    Raises `FolderMissing` where the only one that is meant is gone.
    """
    if path is None:
        followed = await call.records.read(projects.followed)
        gone = await asyncio.to_thread(_gone, followed)
        left = [Unwritten(each.root, wish.agent or "", str(_folder_missing(each))) for each in gone]
        return [replace(wish, path=each.root) for each in followed if each not in gone], left
    project, place = await _target(call, path)
    if await asyncio.to_thread(_gone, [project]):
        raise _folder_missing(project)
    if wish.text_only and wish.agent is None and place == project.root:
        wish = replace(wish, agent=USUAL)
    return [replace(wish, path=place)], []


async def _target(call: Call, path: str) -> tuple[Project, str]:
    """Return a project, and the file in it that is meant, or its root.

    Raises `UnknownProject` and `BadInput`.
    """
    if not Path(path).is_absolute():
        project = await call.project(path)
        return project, project.root
    place = await asyncio.to_thread(_real, path)
    followed = await call.records.read(projects.followed)
    found = innermost(followed, place)
    if found is None:
        raise UnknownProject(f"no followed project holds {path}; follow it with: cortex init PATH")
    is_folder = await asyncio.to_thread(Path(place).is_dir)
    return found, found.root if is_folder else place


def _only(connection: Connection, project: Project) -> str:
    """Return the one file of a project in which a section of ours stands; raises `BadInput`."""
    known = resolutions.resolved_of_project(connection, project.id)
    paths = sorted({path for (path, _), each in known.items() if each.section})
    if len(paths) == 1:
        return paths[0]
    several = f"give one of {', '.join(paths)}" if paths else "nothing was written into its files"
    raise BadInput(f"cannot undo a write in {project.root}: {several}")


def _real(path: str) -> str:
    """Return a path as the ledger has it; of a folder with every link resolved. Blocks."""
    return (status.real(path) or path) if Path(path).is_dir() else reading.place(path)


def _gone(known: Sequence[Project]) -> list[Project]:
    """Return the projects whose folder is not there. Blocks."""
    return [each for each in known if not Path(each.root).is_dir()]


def _folder_missing(project: Project) -> FolderMissing:
    """Return why nothing can be written into a project whose folder is gone."""
    return FolderMissing(
        f"refused to resolve {project.name}: its folder {project.root} is gone; bring it back, or "
        f"follow it no longer with: cortex projects remove {project.id}"
    )


def _shaped(found: Resolved) -> dict[str, Any]:
    """Return what came of a file as clients get it."""
    bullets = [
        fields_of(each, "text", id="principle_id", approved="is_approved")
        | {"conflict": each.conflict or None}
        for each in found.bullets
    ]
    return all_fields(found, state="ending") | {"bullets": bullets}
