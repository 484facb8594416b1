"""What the front desk looks up in the ledger, in the shape that clients get it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, fields
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex_actors.api.shapes import shape_dataclass, shape_fields
from cortex_actors.domain.principle import Ending
from cortex_actors.domain.project import AlertKind, Project, find_innermost
from cortex_actors.errors import BadInput, CortexError, LedgerDown, NotFound, UnknownProject
from cortex_actors.files import repository
from cortex_actors.storage import events, insight_records, passages
from cortex_actors.storage import projects as project_rows
from cortex_actors.storage.embeddings import count_unembedded
from cortex_actors.storage.index import pending
from cortex_actors.storage.ledger import backups, recovery
from cortex_actors.storage.pipeline import insights as insight_rows
from cortex_actors.storage.pipeline import principles, reviews
from cortex_actors.storage.pipeline.principle_lists import count_by_status
from cortex_actors.storage.pipeline.resolutions import list_paths, list_troubled

if TYPE_CHECKING:
    from collections.abc import Awaitable, Container, Sequence

    from cortex_actors.home import Home
    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.topics import Topic

#: What to do about each kind of alert.
_ADVICE = {
    AlertKind.HIDDEN_UNICODE: "invisible characters; the text is not used until you have "
    "looked at it: cortex review",
    AlertKind.SECRET: "a secret is there; it was not learned: change it, and take it out",
    AlertKind.INJECTION: "it reads as if it were to take an agent over; the text is not used until "
    "you have looked at it: cortex review",
}

#: Seconds after a start in which a model may load without that being worth a word: sentence-
#: transformers takes 7 to 9, and twice that on a busy machine.
SETTLING = 30.0


#: States of a layer of the judge that make the daemon degraded.
_TROUBLE = frozenset({"down", "missing"})


async def read_guarded(answer: Awaitable[Any]) -> dict[str, Any]:
    """Return an answer as plain data, or that there is none: `status` must answer all the same."""
    try:
        found = await answer
    except CortexError as error:
        return {"state": "away", "reason": str(error)}
    return dict(found) if isinstance(found, Mapping) else asdict(found)


def resolve_root(path: str) -> str:
    """Return the real path of a folder that may be a project (on a thread).

    Raises `NotFound` for a path that is not there, and `BadInput` for anything else: `/` or a home
    folder holds everybody's files, and looking through it takes longer than two looks are apart.
    """
    found = resolve_path(path)
    if found and not Path(found).exists():
        raise NotFound(f"cannot follow {path}: it is not there; give a project's root folder")
    if not found or not Path(found).is_dir():
        what = "a file, not a folder" if found and Path(found).is_file() else "not a folder"
        raise BadInput(f"cannot follow {path}: it is {what}; give a project's root folder")
    if found in ("/", os.path.realpath(Path.home())):
        raise BadInput(
            f"cannot follow {path}: it holds much more than a project; give one of its folders"
        )
    return found


def count_all(connection: Connection, model: str, sections: Container[str]) -> dict[str, Any]:
    """Return the numbers of `status`; `sections` are the files that have a section of ours."""
    followed = project_rows.list_followed(connection)
    return {
        "projects": len(followed),
        "insights": insight_rows.count(connection),
        "principles": principles.count(connection),
        "principles_by_status": count_by_status(connection),
        "resolved_files": sum(
            each in sections and find_innermost(followed, each) is not None
            for each in list_paths(connection)
        ),
        "unresolved": [
            shape_fields(each, "path", "agent", state="ending")
            for each in list_troubled(connection)
            if each.ending is not Ending.EDITED or each.path in sections
        ],
        "waiting": events.count_waiting(connection),
        "dead": events.count_dead(connection),
        "unembedded": count_unembedded(connection, model),
        "unindexed": pending.count_pending(connection),
        "passages": passages.count(connection),
        "broken_files": len(project_rows.list_broken(connection)),
        "review": insight_rows.count_waiting(connection),
        "alerts": [
            shape_fields(each, "kind", "path", "line_start", "detail")
            for each in insight_records.list_alerts(connection)
        ],
    }


def list_reasons(
    counted: Mapping[str, Any], model: Mapping[str, Any], index: Mapping[str, Any], *, uptime: float
) -> list[str]:
    """Return why the daemon is degraded, a sentence each; nothing when it is well.

    A model that loads in the first seconds of a daemon's life is no reason, nor is an index that
    opens: it says itself when it takes longer than it should.
    """
    found = []
    if counted.get("state") == "away":
        found.append(f"ledger: {counted['reason']}")
    writing = counted.get("writing", {})
    if writing.get("state") == "failing":
        found.append(f"ledger: for {writing['for_s']:.0f} s now: {writing['reason']}")
    state = model.get("state")
    if state == "loading" and uptime >= SETTLING:
        found.append(
            "model: it is still loading; questions are answered by their words alone until then"
        )
    elif state not in ("ready", "loading"):
        found.append(f"model: {model.get('reason') or state}")
    if index.get("reason"):
        found.append(f"index: {index['reason']}; exact search answers meanwhile")
    if counted.get("dead"):
        found.append(
            f"events: {counted['dead']} could not be handled and were set aside; "
            "see cortex daemon events --dead"
        )
    return found


def list_findings(met: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what a person should look at in files, a sentence for each kind of it.

    The daemon is well nonetheless: the text of a file never makes it degraded.
    """
    found = []
    for kind, advice in _ADVICE.items():
        some = [each for each in met if each["kind"] == kind]
        if some:
            first = some[0]
            more = f" and {len(some) - 1} more" if some[1:] else ""
            place = f"{first['path']}:{first['line_start']}"
            found.append(f"{place} ({first['detail']}){more}: {advice}")
    return found


def find_reasons(
    failing: Mapping[str, Any],
    *,
    judge: Mapping[str, Any],
    accesses: Mapping[str, Any],
    stores: Mapping[str, Any],
    door: Mapping[str, Any],
) -> list[str]:
    """Return why the daemon is degraded by what works beside ledger, model and index.

    By jobs that failed when they ran last, layers of the judge that cannot be asked, reads that
    cannot be written, what is known of stores, and the door for others. A store that does not
    answer is no reason: it is another program's trouble, and said in every answer that it has no
    part in.
    """
    jobs = {} if failing.get("state") == "away" else failing
    found = [f"{job}: {why}" for job, why in jobs.items()]
    if judge.get("state") == "away":
        found.append(f"judge: {judge['reason']}")
    found += [
        f"judge: {layer['reason']}; the rules decide alone meanwhile"
        for layer in judge.get("layers", ())
        if layer["state"] in _TROUBLE
    ]
    if trouble := accesses.get("trouble"):
        found.append(f"which memories are read is not written, and tried again: {trouble}")
    found += [f"stores: {each}" for each in stores.get("trouble", ())]
    return [*found, f"http: {door['reason']}"] if door.get("reason") else found


def load_backups(home: Home, now: int) -> dict[str, Any]:
    """Return the newest backup, the last whole check, and this week's last recovery (on a thread).

    A recovery from before the last `cortex daemon restore` is left out: its ledger is no longer
    in use. Of a folder that cannot be read it says nothing: the next backup fails for it, and
    says why.
    """
    copies: list[backups.Backup] = []
    with suppress(LedgerDown):
        copies = [each for each in backups.list_backups(home.backups) if not each.migrated]
    newest = {"at": copies[0].at, "path": str(copies[0].path)} if copies else None
    since = backups.find_restored(home.ledger) or 0
    return {
        "backup": newest,
        "checked_at": backups.read_checked(home.backups),
        "recovery": recovery.find_latest(home.backups, now, since=since),
    }


def find_project(connection: Connection, wanted: str) -> Project:
    """Return the followed project of a path in it, a name or an id; the innermost of several.

    Raises `UnknownProject`.
    """
    followed = project_rows.list_followed(connection)
    inside = find_innermost(followed, resolve_path(wanted) or "")
    if inside is not None:
        return inside
    named = [each for each in followed if wanted in (each.id, each.name)]
    if len(named) == 1:
        return named[0]
    message = f"no followed project holds {wanted}; follow it with: cortex init PATH"
    if named:
        message = f"{len(named)} projects are called {wanted}; give the path of one"
    raise UnknownProject(message)


def find_project_around(connection: Connection, folder: str) -> Project | None:
    """Return the followed project that a folder belongs to; None for one of no project. Blocks.

    That is the innermost that holds it. A worktree or a clone that is not followed itself belongs
    to the project at the same place of another checkout of its repository; of several to the one
    that was followed first.
    """
    path = resolve_path(folder)
    every = (each for each in project_rows.list_followed(connection) if not each.is_own)
    followed = sorted(every, key=attrgetter("added_at"))
    if not path or not followed:
        return None
    inside, top = find_innermost(followed, path), repository.find_top(path)
    if top is None or (inside is not None and len(inside.root) >= len(top)):
        return inside
    origin = repository.find_origin(top)
    origins = project_rows.load_origins(connection, (each.id for each in followed))
    found, deepest = inside, -1
    for each in followed:
        if origin is not None and origins[each.id] == origin:
            start = repository.find_top(each.root) or each.root
            there = str(Path(start, os.path.relpath(path, top)))
            if each.holds(there) and (depth := len(each.root) - len(start)) > deepest:
                found, deepest = each, depth
    return found


def list_projects(connection: Connection) -> dict[str, Any]:
    """Return the followed projects with their numbers of files, and the files that are broken."""
    files = project_rows.count_files(connection)
    said = insight_rows.count_by_project(connection)
    auto = {each.id for each in project_rows.list_resolving(connection)}
    gone = {each.key for each in reviews.list_revocations(connection)}
    return {
        "projects": [
            {
                **asdict(each),
                "files": files.get(each.id, 0),
                "insights": said.get(each.id, 0),
                "auto": each.id in auto,
                "revoked": each.id in gone,
            }
            for each in project_rows.list_followed(connection)
        ],
        "broken": [
            {"path": state.path, "reason": state.error}
            for state in project_rows.list_broken(connection)
        ],
        "left_out": [
            {"path": path, "lines": count}
            for path, count in project_rows.count_left_out(connection).items()
        ],
    }


def shape_topic(row: Topic) -> dict[str, Any]:
    """Return one row of the catalogue."""
    told = shape_dataclass(row, "key", "owner_only")
    return {**told, "payload": [field.name for field in fields(row.payload)]}


def resolve_path(path: str) -> str | None:
    """Return a path with every link resolved; None for what can be no path here.

    The ledger holds text, so a path that is not UTF-8 cannot be kept.
    """
    try:
        path.encode()
        return os.path.realpath(path)
    except ValueError:
        return None
