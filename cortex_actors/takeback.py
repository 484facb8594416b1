"""What a person takes back: what a word means, and what becomes of everything that came of it.

The transactions are here, in the shape that clients get; who says what afterwards is the verbs'.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cortex_actors.domain.principle import of_insight
from cortex_actors.domain.project import SourceKind, innermost
from cortex_actors.errors import BadInput, NotFound
from cortex_actors.storage import (
    insight_lists,
    insights,
    principles,
    projects,
    resolutions,
    reviews,
    revoking,
)
from cortex_actors.storage.insight_lists import Named, find
from cortex_actors.storage.revoking import Revoked

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable

    from cortex_actors.storage.ledger.actor import Connection

#: Texts that an answer shows of those that are gone.
SHOWN = 20

#: What a run of the audit is called that took something back, or let it count again.
KIND = "revocation"

#: What ids begin with, and what they are ids of.
_NAMED = {Named.INSIGHT: SourceKind.INSIGHT, Named.PRINCIPLE: SourceKind.PRINCIPLE}

_PROJECT = "prj_"


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
        files: (file, agent) in which something stands that must go.

    """

    begun: tuple[Source, ...]
    did: Revoked
    files: tuple[tuple[str, str], ...]


def source(connection: Connection, word: str, place: str | None) -> Source:
    """Return what a word means: a project, a file or folder, an insight, a principle.

    `place` is the real path, where the word is a path. Projects that are followed no longer count,
    too: what they said is known. Raises `NotFound`, and `BadInput` for what means several.
    """
    for prefix, kind in _NAMED.items():
        if word.lower().startswith(prefix):
            key = find(connection, prefix, word)
            return Source(kind, key, key)
    every = projects.ever(connection)
    if place is not None:
        whole = next((each for each in every if each.root == place), None)
        if whole is not None:
            return Source(SourceKind.PROJECT, whole.id, whole.name)
        if innermost(every, place) is not None or revoking.is_known(connection, place):
            return Source(SourceKind.PATH, place, place)
        message = f"nothing was learned from {place}, and it lies in no project: cortex projects"
        raise NotFound(message)
    meant = [each for each in every if word in (each.id, each.name)]
    if len(meant) == 1:
        return Source(SourceKind.PROJECT, meant[0].id, meant[0].name)
    if meant:
        named = ", ".join(f"{each.id} ({each.root})" for each in meant)
        raise BadInput(f"{word} means several projects: {named}; give the path or the id of one")
    message = (
        f"there is no source {word!r}; give a project's name or folder, a file's path, or the id of"
        " an insight or a principle: cortex projects, cortex insights, cortex principles"
    )
    raise NotFound(message)


def take(
    connection: Connection,
    wanted: Source,
    *,
    at: int,
    least: int,
    note: str | None,
    same: bool,
    sections: Container[str],
) -> Effect:
    """Take a source back, and with `same` the texts that say the same as an insight.

    `sections` are the files that have a section of ours now: no other is written.
    """
    some = [wanted]
    if same and wanted.kind is SourceKind.INSIGHT:
        others = insights.followers(connection, [wanted.key])
        some += [Source(SourceKind.INSIGHT, each, each) for each in sorted(others)]
    begun: list[Source] = []
    did = Revoked()
    for each in some:
        if reviews.begin(connection, each.kind, each.key, at=at, note=note):
            begun.append(each)
            did += revoking.revoke(connection, each.kind, each.key, at=at, least=least)
    lost = {name for name, _ in did.principles}
    lost |= {each.key for each in begun if each.kind is SourceKind.PRINCIPLE}
    gone = did.gone | {each.key for each in begun if each.kind is SourceKind.INSIGHT}
    reviews.end_approvals(connection, lost | {of_insight(each) for each in gone}, at=at)
    return Effect(tuple(begun), did, _files(connection, lost, sections))


def told(connection: Connection, wanted: Source, effect: Effect) -> dict[str, Any]:
    """Return what was taken back as clients get it; the texts that are gone are shown in part."""
    did = effect.did
    said = {
        each.id: each for each in insight_lists.by_ids(connection, did.gone | did.freed).values()
    }
    return {
        "kind": str(wanted.kind),
        "key": wanted.key,
        "name": wanted.name,
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


def listed(connection: Connection, sections: Container[str]) -> dict[str, Any]:
    """Return everything that is taken back, newest first, and what of it stands in files still."""
    names = projects.names(connection)
    keys = [each.key for each in reviews.standing(connection)]
    texts = {each.id: each.content for each in insight_lists.by_ids(connection, keys).values()}
    texts |= {each.id: each.content for each in principles.by_ids(connection, keys).values()}
    return {
        "revoked": [
            {
                "kind": str(each.kind),
                "key": each.key,
                "name": names.get(each.key, each.key),
                "content": texts.get(each.key),
                "note": each.note,
                "at": each.at,
            }
            for each in reviews.standing(connection)
        ],
        "left_over": [
            {
                "path": path,
                "agent": agent,
                "bullet": text,
                "reason": _reason(connection, path, agent),
            }
            for path, agent, text in revoking.left_over(connection)
            if path in sections
        ],
    }


def record(
    connection: Connection, run_id: str, wanted: Source, *, at: int, counts: dict[str, int]
) -> None:
    """Write into the audit what a person took back, or lets count again."""
    projects.record(
        connection,
        projects.Run(
            id=run_id,
            kind=KIND,
            started_at=at,
            finished_at=at,
            project_id=wanted.key if wanted.kind is SourceKind.PROJECT else None,
            path=wanted.key if wanted.kind is SourceKind.PATH else None,
            counts={name: count for name, count in counts.items() if count},
        ),
    )


def _files(
    connection: Connection, lost: Collection[str], sections: Container[str]
) -> tuple[tuple[str, str], ...]:
    """Return the files and agents for which principles stand somewhere."""
    rows: Iterable[tuple[str, str, Any]] = resolutions.standing(connection, lost)
    return tuple(sorted({(path, agent) for path, agent, _ in rows if path in sections}))


def _checkouts(connection: Connection, wanted: Source) -> list[str]:
    """Return the roots of other projects that are checkouts of the same repository."""
    if wanted.kind is not SourceKind.PROJECT:
        return []
    every = projects.ever(connection)
    origins = projects.located(connection, [each.id for each in every])
    mine = origins.get(wanted.key)
    return [
        each.root
        for each in every
        if mine is not None and each.id != wanted.key and origins.get(each.id) == mine
    ]


def _reason(connection: Connection, path: str, agent: str) -> str | None:
    """Return why a file was not written; None where it was, or is about to be."""
    found = resolutions.find(connection, path, agent)
    return None if found is None else found.reason
