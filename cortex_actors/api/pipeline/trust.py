"""Operations on what is in files: writing it, and taking a source back.

What a person takes back: what a word means, and what becomes of everything that came of it.

The transactions are here, in the shape that clients get; who says what afterwards is the verbs'.

The verbs that bring what is known into instruction files, and take it out of them again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Container, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex_actors import topics
from cortex_actors.api import status
from cortex_actors.api.parameters import read_word
from cortex_actors.api.registry import Call, Said, operation
from cortex_actors.api.shapes import shape_dataclass, shape_fields
from cortex_actors.clock import make_ulid
from cortex_actors.domain import event
from cortex_actors.domain.agent import OWNER
from cortex_actors.domain.principle import (
    Edits,
    Ending,
    ResolutionWish,
    Resolved,
    Unwritten,
    derive_id,
)
from cortex_actors.domain.project import (
    Approval,
    Decision,
    DecisionWay,
    Project,
    SourceKind,
    find_innermost,
)
from cortex_actors.errors import BadInput, FolderMissing, NotFound, UnknownProject
from cortex_actors.pipeline import reading, selection
from cortex_actors.pipeline.resolver import Resolver
from cortex_actors.render import section
from cortex_actors.rules.admission import check_note
from cortex_actors.storage import projects
from cortex_actors.storage.pipeline import insights, principles, resolutions, reviews, revoking
from cortex_actors.storage.pipeline.insight_lists import Named, find, load_insights

if TYPE_CHECKING:
    from cortex_actors.storage.ledger.actor import Connection

#: Texts that an answer shows of those that are gone.
SHOWN = 20

#: What a run of the audit is called that took something back, or let it count again.
KIND = "revocation"

#: What ids begin with, and what they are ids of.
_NAMED = {Named.INSIGHT: SourceKind.INSIGHT, Named.PRINCIPLE: SourceKind.PRINCIPLE}


@dataclass(frozen=True, slots=True)
class Source:
    """What a person means; `name` is what it is called where people read it."""

    kind: SourceKind
    key: str
    name: str


@dataclass(frozen=True, slots=True)
class Effect:
    """What taking something back did.

    Attributes:
        begun: the sources that count no more since; none where all were taken back before.
        did: what that did to what was learned.
        lost: the principles that are none any more.
        files: (file, agent) that have a section of ours with something that must go.

    """

    begun: Sequence[Source]
    did: revoking.Revoked
    lost: set[str]
    files: Sequence[tuple[str, str]]


def resolve_source(connection: Connection, word: str, place: str | None) -> Source:
    """Return what a word means: a project, a file or folder, an insight, a principle.

    `place` is the real path, where the word is a path. Projects that are followed no longer count,
    too: what they said is known. Raises `NotFound`, and `BadInput` for what means several.
    """
    for prefix, kind in _NAMED.items():
        if word.lower().startswith(prefix):
            key = find(connection, prefix, word)
            return Source(kind, key, key)
    every = projects.list_ever(connection)
    if place is not None:
        whole = next((each for each in every if each.root == place), None)
        if whole is not None:
            return Source(SourceKind.PROJECT, whole.id, whole.name)
        if find_innermost(every, place) is not None or revoking.is_known(connection, place):
            return Source(SourceKind.PATH, place, place)
        message = f"nothing was learned from {place}, and it lies in no project: cortex projects"
        raise NotFound(message)
    meant = [each for each in every if word in (each.id, each.name)]
    if len(meant) == 1:
        return Source(SourceKind.PROJECT, meant[0].id, meant[0].name)
    if meant:
        named = ", ".join(f"{each.id} ({each.root})" for each in meant)
        raise BadInput(f"{word} means several projects: {named}; give the path or the id of one")
    raise NotFound(
        f"there is no source {word!r}; give a project's name or folder, a file's path, or the id of"
        " an insight or a principle: cortex projects, cortex insights, cortex principles"
    )


def take(
    connection: Connection,
    some: Sequence[Source],
    *,
    there: Container[str],
    at: int,
    least: int,
    note: str | None,
) -> Effect:
    """Take sources back; `there` are the files that have a section of ours now."""
    begun: list[Source] = []
    did = revoking.Revoked()
    for each in some:
        if reviews.begin(connection, each.kind, each.key, at=at, note=note):
            begun.append(each)
            did += revoking.revoke(connection, each.kind, each.key, at=at, least=least)
    lost = {each.key for each in begun if each.kind is SourceKind.PRINCIPLE}
    lost |= {name for name, _ in did.principles}
    gone = did.gone | {each.key for each in begun if each.kind is SourceKind.INSIGHT}
    reviews.end_approvals(connection, lost | {derive_id(each) for each in gone}, at=at)
    files = {(path, agent) for path, agent, _ in resolutions.list_standing(connection, lost)}
    return Effect(begun, did, lost, sorted(each for each in files if each[0] in there))


def shape_revocation(connection: Connection, wanted: Source, effect: Effect) -> dict[str, Any]:
    """Return what was taken back as clients get it; the texts that are gone are shown in part."""
    did = effect.did
    said = {each.id: each for each in load_insights(connection, did.gone | did.freed).values()}
    return {
        **shape_dataclass(wanted),
        "revoked": [each.key for each in effect.begun],
        "places": did.places,
        "gone": len(did.gone),
        "texts": [{"id": each, "content": said[each].content} for each in sorted(did.gone)[:SHOWN]],
        "freed": [{"id": each, "content": said[each].content} for each in sorted(did.freed)],
        "principles": [{"id": name, "content": text} for name, text in did.principles],
        "weaker": sorted(did.shaken),
        "files": [{"path": path, "agent": agent} for path, agent in effect.files],
        "checkouts": _checkouts(connection, wanted),
    }


def list_revocations(connection: Connection, sections: Container[str]) -> dict[str, Any]:
    """Return everything that is taken back, newest first, and what of it files still have."""
    names = projects.load_names(connection)
    keys = [each.key for each in reviews.list_revocations(connection)]
    texts = {each.id: each.content for each in load_insights(connection, keys).values()}
    texts |= {
        each.id: each.content for each in principles.load_principles(connection, keys).values()
    }
    return {
        "revoked": [
            {
                **shape_fields(each, "kind", "key", "note", "at"),
                "name": names.get(each.key, each.key),
                "content": texts.get(each.key),
            }
            for each in reviews.list_revocations(connection)
        ],
        "left_over": [
            {
                "path": path,
                "agent": agent,
                "bullet": text,
                # None where it was written, or is about to be.
                "reason": getattr(resolutions.find(connection, path, agent), "reason", None),
            }
            for path, agent, text in revoking.list_left_over(connection)
            if path in sections
        ],
    }


def record(
    connection: Connection, run: projects.PipelineRun, wanted: Source, *, counts: dict[str, int]
) -> None:
    """Write into the audit what a person took back, or lets count again."""
    projects.record(
        connection,
        replace(
            run,
            project_id=wanted.key if wanted.kind is SourceKind.PROJECT else None,
            path=wanted.key if wanted.kind is SourceKind.PATH else None,
            counts={name: count for name, count in counts.items() if count},
        ),
    )


def _checkouts(connection: Connection, wanted: Source) -> list[str]:
    """Return the roots of other projects that are checkouts of the same repository."""
    if wanted.kind is not SourceKind.PROJECT:
        return []
    every = projects.list_ever(connection)
    origins = projects.load_origins(connection, [each.id for each in every])
    mine = origins.get(wanted.key)
    return [
        each.root
        for each in every
        if mine is not None and each.id != wanted.key and origins.get(each.id) == mine
    ]


#: Ids that one event names: its payload has a limit.
NAMED = 1_500


@operation("projects.revoke", http="POST /sources/revoke")
async def revoke(
    call: Call, source: str, note: str | None = None, *, same: bool = False, dry_run: bool = False
) -> dict[str, Any]:
    """Take back a source, everything derived from it, and what of it is in files.

    `source` is a project's name, id or folder, a file's or folder's absolute path, or the id of
    an insight or a principle; `same` takes the texts along that say the same as an insight.
    What it said is not learned again, and every file that has something of it is written again,
    whatever its project opted for. A dry run changes nothing. Raises `NotFound`,
    `BadInput`.
    """
    note = check_note(note)
    place, at = await _place(source), call.clock.now()
    run, least = projects.PipelineRun.from_moment(KIND, at), call.load_ruling().promotion.projects
    there = await _sections(call)

    def work(connection: Connection) -> tuple[dict[str, Any], Sequence[Said]]:
        wanted = resolve_source(connection, source, place)
        some = [wanted]
        if same and wanted.kind is SourceKind.INSIGHT:
            others = sorted(insights.load_followers(connection, [wanted.key]))
            some += [Source(SourceKind.INSIGHT, each, each) for each in others]
        effect = take(connection, some, there=there, at=at, least=least, note=note)
        answer = shape_revocation(connection, wanted, effect)
        if not effect.begun:
            return answer, ()
        counts = {
            "places": effect.did.places,
            "insights": len(effect.did.gone),
            "principles": len(effect.did.principles),
            "files": len(effect.files),
        }
        record(connection, run, wanted, counts=counts)
        return answer, list(_said(run.id, effect))

    return {**await call.change_and_publish(work, dry_run=dry_run), "dry_run": dry_run}


@operation("projects.lift", http="POST /sources/lift")
async def lift(call: Call, source: str) -> dict[str, Any]:
    """Let a source count again that was taken back; what it says is read again at once.

    What was known of it is found as it was; principles are earned again. Raises `NotFound` for
    what was not taken back, and as `revoke` does.
    """
    place, at = await _place(source), call.clock.now()
    run = projects.PipelineRun.from_moment(KIND, at)

    def work(connection: Connection) -> tuple[dict[str, Any], Sequence[Said]]:
        wanted = resolve_source(connection, source, place)
        found = reviews.find(connection, wanted.kind, wanted.key)
        if found is None:
            raise NotFound(
                f"{wanted.name} was not taken back; what was is listed by: cortex projects revoke"
            )
        reviews.end(connection, wanted.kind, wanted.key, at=at)
        reviews.restore(connection, ended_at=found.at)
        record(connection, run, wanted, counts={"lifted": 1})
        said = list(_read_again(connection, run.id, wanted))
        return {**shape_dataclass(wanted), "read_again": bool(said)}, said

    return await call.change_and_publish(work)


@operation("projects.revoked", http="GET /sources/revoked")
async def revoked(call: Call) -> dict[str, Any]:
    """List everything that is taken back, newest first.

    `left_over` are bullets of files though they are no principle any more, with the
    reason where a file could not be written.
    """
    there = await _sections(call)
    return await call.records.read(lambda c: list_revocations(c, there))


async def _sections(call: Call) -> Container[str]:
    """Return the files that have a section of ours now."""
    written = await call.records.read(resolutions.list_paths)
    return await asyncio.to_thread(selection.read_sections, written)


async def _place(word: str) -> str | None:
    """Return the one name of a file or folder; None for a word that is no path."""
    if not word.startswith("/"):
        return None
    return await asyncio.to_thread(reading.resolve_place, word)


def _said(run_id: str, effect: Effect) -> Iterator[Said]:
    """Yield what is said of a source that was taken back."""
    for some in event.split_ids(sorted(effect.did.changed), NAMED):
        yield topics.ACCUMULATION_COMPLETE, event.AccumulationComplete(run_id, None, some)
    if effect.did.changed:
        yield topics.ORGANISATION_REQUESTED, event.Nothing()
    for some in event.split_ids(sorted(effect.lost), NAMED):
        yield topics.ORGANISATION_COMPLETE, event.OrganisationComplete(run_id, some)
    for path, agent in effect.files:
        yield topics.RESOLUTION_REQUESTED, event.ResolutionRequested(path, agent, refresh=True)


def _read_again(connection: Connection, run_id: str, wanted: Source) -> Iterator[Said]:
    """Yield what has a source read that counts again."""
    followed = projects.list_followed(connection)
    if wanted.kind is SourceKind.PRINCIPLE:
        yield topics.ORGANISATION_COMPLETE, event.OrganisationComplete(run_id, (wanted.key,))
    elif wanted.kind is SourceKind.INSIGHT:
        for path in revoking.forget_files(connection, wanted.key):
            project = find_innermost(followed, path)
            if project is not None:
                yield topics.FILE_CHANGED, event.FileChanged(project.id, path)
    elif wanted.kind is SourceKind.PROJECT:
        if wanted.key in {each.id for each in followed}:
            yield topics.SCAN_REQUESTED, event.ScanRequested(wanted.key)
    else:
        inside = {each.id for each in followed if each.root.startswith(f"{wanted.key}/")}
        around = find_innermost(followed, wanted.key)
        for project_id in sorted(inside | ({around.id} if around is not None else set())):
            yield topics.SCAN_REQUESTED, event.ScanRequested(project_id)


#: For whom a text is made where neither the caller nor a file says it.
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
    else is written without an approval, and nothing is approved by a dry run.
    A file that may not be written is in the answer with the reason, and so is, of all projects,
    one whose folder is gone. Raises `FolderMissing` where only that one is meant,
    `UnknownProject`, `NotFound` for an agent, `BadInput` for a file that no agent reads.
    """
    if (path is None) is not everything:
        raise BadInput("say what to resolve: a path, or everything, and not both")
    has_no_file = agent is not None and not section.find(agent).places
    wish = ResolutionWish(
        "",
        agent,
        dry_run=dry_run,
        create=create,
        adopt=adopt,
        edits=read_word(Edits, edited, what="way to deal with edits"),
        metadata=metadata,
        text_only=text_only or has_no_file,
    )
    wishes, gone = await _wishes(call, wish, path)
    if approve and not dry_run:
        await _accept(call, approve)
    found = await call.actors.resolver.limit(None).ask(Resolver.resolve, wishes)
    return {
        "files": [_shaped(each) for each in found.files],
        "left": [asdict(each) for each in (*gone, *found.left)],
    }


@operation("resolve.preview", http="GET /resolve/preview")
async def resolve_preview(
    call: Call,
    path: str | None = None,
    agent: str | None = None,
    *,
    text_only: bool = False,
    here: str | None = None,
) -> dict[str, Any]:
    """Return what `resolve` would write into instruction files of a project; nothing is written.

    `path` is a file, a folder in a project, or a project's name or id; without one it is the
    project of the folder `here`. A file in which nothing would change is `unchanged`. Raises as
    `resolve` does.
    """
    found = None if path else await call.find_project(None, here)
    if not path and found is None:
        raise BadInput("cannot preview: the folder is of no followed project; give path, a project")
    place = path or (found.root if found else None)
    shown = await resolve(call, place, agent, dry_run=True, text_only=text_only)
    for each in shown["files"]:
        # A text alone is for no file, and has no diff to look at.
        if each["state"] == Ending.SHOWN and each["path"] and not (each["diff"] or text_only):
            each["state"] = Ending.UNCHANGED.value
    return shown


async def _accept(call: Call, names: Sequence[str]) -> None:
    """Note that a person accepted a diff with those principles; those that are gone are not."""
    now = call.clock.now()

    def work(connection: Connection) -> tuple[None, Sequence[Said]]:
        known = principles.load_principles(connection, names)
        for each in known:
            said = Approval(each, Decision.APPROVED, now, OWNER.by, DecisionWay.DIFF)
            reviews.decide_approval(connection, said)
        done = event.OrganisationComplete(f"run_{make_ulid(now)}", tuple(sorted(known)))
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
    return _shaped(await call.actors.resolver.limit(None).ask(Resolver.undo, place))


@operation("projects.auto", http="POST /projects/auto")
async def set_auto(call: Call, project: str, on: bool) -> dict[str, Any]:
    """Write a project's instruction files whenever something new is known, or stop that.

    Once it is on, what is known is brought into them at once. Raises `UnknownProject`.
    """
    found = await call.require_project(project)
    said = [(topics.ORGANISATION_REQUESTED, event.Nothing())] if on else []
    new = await call.change(lambda c: projects.let_resolve(c, found.id, on=on), *said)
    return {"id": found.id, "name": found.name, "root": found.root, "auto": on, "new": new}


async def _wishes(
    call: Call, wish: ResolutionWish, path: str | None
) -> tuple[list[ResolutionWish], list[Unwritten]]:
    """Return a wish for each project or file that is meant, and the projects that are gone.

    Raises `FolderMissing` where the only one that is meant is gone.
    """
    if path is None:
        followed = await call.records.read(projects.list_written)
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
        project = await call.require_project(path)
        return project, project.root
    place = await asyncio.to_thread(
        lambda: (
            (status.resolve_path(path) or path)
            if Path(path).is_dir()
            else reading.resolve_place(path)
        )
    )
    followed = await call.records.read(projects.list_followed)
    found = find_innermost(followed, place)
    if found is None:
        raise UnknownProject(f"no followed project holds {path}; follow it with: cortex init PATH")
    is_folder = await asyncio.to_thread(Path(place).is_dir)
    return found, found.root if is_folder else place


def _only(connection: Connection, project: Project) -> str:
    """Return the one file of a project that has a section of ours; raises `BadInput`."""
    known = resolutions.load_of_project(connection, project.id)
    paths = sorted({path for (path, _), each in known.items() if each.section})
    if len(paths) == 1:
        return paths[0]
    several = f"give one of {', '.join(paths)}" if paths else "nothing was written into its files"
    raise BadInput(f"cannot undo a write in {project.root}: {several}")


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
        shape_fields(each, "text", id="principle_id", approved="is_approved")
        | {"conflict": each.conflict or None}
        for each in found.bullets
    ]
    return shape_dataclass(found, state="ending") | {"bullets": bullets}
