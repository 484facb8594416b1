"""Revoking: what a source said is withdrawn, with everything that came of it, in one transaction.

Withdrawn, as if its files had gone: it is given out no more, and lifting the revocation finds
every observation, review and decision as it was. What was made of it is deleted: each derivation
from a text that no file says now, and each principle that then has no source, whose words no other
source says, or which was promoted on that source's word (its other voices are too few).

Every function takes the connection of a transaction it is part of.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, Connection, and_, or_, select

from cortex_actors.domain.project import SourceKind
from cortex_actors.storage import insight_records, projects
from cortex_actors.storage.pipeline import insights, principles, reviews
from cortex_actors.storage.pipeline.insight_evidence import load_voices
from cortex_actors.storage.pipeline.insight_lists import match_path
from cortex_actors.storage.tables.columns import group_pairs
from cortex_actors.storage.tables.dialect import execute_for
from cortex_actors.storage.tables.schema import insight_sources, resolved_bullets
from cortex_actors.storage.tables.schema import principles as principle_rows

if TYPE_CHECKING:
    from collections.abc import Collection


#: Derivations of some principles from some texts.
_DISOWN = (
    "DELETE FROM derivations WHERE principle_id IN :ids"
    " AND insight_id IN (SELECT value FROM :each(?2) AS gone)"
)

#: What explains principles.
_UNEXPLAINED = (
    "UPDATE principles SET elaboration = NULL WHERE elaboration IS NOT NULL AND id IN :ids"
)

#: Principles whose very words some file says.
_WORDED = (
    "SELECT p.id FROM principles AS p JOIN insights AS i ON i.content_hash = p.content_hash"
    " WHERE p.id IN :ids AND EXISTS (SELECT 1 FROM insight_sources AS s"
    " WHERE s.said_id = i.id AND s.withdrawn_at IS NULL AND s.path NOT LIKE '%.local.md')"
)

#: The representatives of the texts that principles come of, and whether a person approved it.
_FAMILIES = (
    "SELECT d.principle_id, coalesce(i.superseded_by, i.id), EXISTS (SELECT 1 FROM reviews AS r"
    " WHERE r.insight_id IN (i.id, i.superseded_by) AND r.decision = 'approved')"
    " FROM derivations AS d JOIN insights AS i ON i.id = d.insight_id"
    " WHERE d.principle_id IN :ids"
)


@dataclass(frozen=True, slots=True)
class Revoked:
    """What taking a source back did.

    Attributes:
        places: at how many places it said something.
        changed: insights of which something is otherwise now.
        gone: those of them that no file says any more.
        freed: texts that one of those represented, and that represent themselves now.
        principles: those that were deleted, with what they said.
        shaken: those that stay, and owe less than they did.

    """

    places: int = 0
    changed: frozenset[str] = frozenset()
    gone: frozenset[str] = frozenset()
    freed: frozenset[str] = frozenset()
    principles: tuple[tuple[str, str], ...] = ()
    shaken: frozenset[str] = frozenset()

    def __add__(self, other: Revoked) -> Revoked:
        """Return what two did together, one after the other."""
        forgotten = {name for name, _ in other.principles}
        return Revoked(
            self.places + other.places,
            self.changed | other.changed,
            self.gone | other.gone,
            (self.freed | other.freed) - self.gone - other.gone,
            self.principles + other.principles,
            (self.shaken | other.shaken) - forgotten,
        )


def revoke(connection: Connection, kind: SourceKind, key: str, *, at: int, least: int) -> Revoked:
    """Withdraw all that a source said and delete what came of it; return what that was.

    `least` is how many voices a principle needs without an approval. A principle that is taken
    back itself stays, for its id and its words to be known by: who gives principles out asks.
    """
    if kind is SourceKind.PRINCIPLE:
        return Revoked()
    places = insight_sources.c
    query = select(
        places.fragment_id, places.ordinal, places.path, places.said_id, places.withdrawn_at
    ).where(_comes_of(connection, kind, key))
    rows = connection.execute(query).all()
    spots = [(row.fragment_id, row.ordinal) for row in rows if row.withdrawn_at is None]
    said = {row.said_id for row in rows}
    heads = insights.load_representatives(connection, said)
    followed = insights.load_followers(connection, said).keys()
    touched = principles.find_coming_of(connection, {*said, *heads.values()})
    changed = insights.withdraw_said(connection, spots, said, at=at) | set(heads.values())
    # What is not looked at any more raises no alert; files that are not, are forgotten.
    if kind is SourceKind.INSIGHT:
        insight_records.end_alerts_of(connection, key, at)
    for path in {row.path for row in rows} if kind is not SourceKind.INSIGHT else ():
        insight_records.end(connection, path, at)
        projects.forget(connection, path)
    gone = said - insights.filter_said(connection, said)
    lost = _disown(connection, touched, gone, least=least)
    return Revoked(
        places=len(spots),
        changed=frozenset(changed),
        gone=frozenset(gone),
        freed=frozenset(followed - gone),
        principles=tuple(sorted(lost.items())),
        shaken=frozenset(touched - lost.keys()),
    )


def forget_files(connection: Connection, insight_id: str) -> list[str]:
    """Forget the state of files that ever said a text, to have them read again; return these."""
    query = select(insight_sources.c.path).distinct().where(insight_sources.c.said_id == insight_id)
    found = sorted(connection.execute(query).scalars())
    for path in found:
        projects.forget(connection, path)
    return found


def list_left_over(connection: Connection) -> list[tuple[str, str, str]]:
    """Return (path, agent, bullet) of what files hold though it is a principle no more.

    Either the file is being rewritten, or it could not be: its resolution says why.
    """
    taken = resolved_bullets.c.principle_id.in_(reviews.select_revoked(SourceKind.PRINCIPLE))
    query = (
        select(resolved_bullets)
        .outerjoin(principle_rows, principle_rows.c.id == resolved_bullets.c.principle_id)
        .where(or_(principle_rows.c.id.is_(None), taken))
        .order_by(*resolved_bullets.primary_key.columns)
    )
    return [(row.path, row.agent, row.text) for row in connection.execute(query)]


def is_known(connection: Connection, path: str) -> bool:
    """Tell whether a file, or one in a folder, ever said anything."""
    query = select(insight_sources.c.id).where(match_path(path)).limit(1)
    return connection.execute(query).first() is not None


def _comes_of(connection: Connection, kind: SourceKind, key: str) -> ColumnElement[bool]:
    """Return the condition that a place is of a source.

    Of a project, also if a project around it has taken its files over.
    """
    if kind is SourceKind.PATH:
        return match_path(key)
    if kind is SourceKind.INSIGHT:
        return insight_sources.c.said_id == key
    owner, every = insight_sources.c.project_id, projects.list_ever(connection)
    own = next((each for each in every if each.id == key), None)
    if own is None or own.is_own:
        return owner == key
    outer = [each.id for each in every if each.id != key and each.holds(own.root)]
    return or_(owner == key, and_(owner.in_(outer), match_path(own.root)))


def _disown(
    connection: Connection, touched: Collection[str], gone: Collection[str], *, least: int
) -> dict[str, str]:
    """Let principles owe nothing to texts that are gone; return those that were deleted for it."""
    execute_for(connection, _DISOWN, touched, json.dumps(sorted(gone)))
    left = _vouched(connection, touched, least=least)
    left &= {each for (each,) in execute_for(connection, _WORDED, touched)}
    lost = {
        each.id: each.content
        for each in principles.load_principles(connection, touched).values()
        if each.id not in left
    }
    principles.forget(connection, lost)
    # It may quote a text that is gone, and is written again.
    execute_for(connection, _UNEXPLAINED, left)
    return lost


def _vouched(connection: Connection, touched: Collection[str], *, least: int) -> set[str]:
    """Return the principles that a person approved, or that enough voices still say."""
    rows = execute_for(connection, _FAMILIES, touched).fetchall()
    families = group_pairs((principle, insight) for principle, insight, _ in rows)
    approved = {principle for principle, _, is_approved in rows if is_approved}
    said = load_voices(connection, {each for some in families.values() for each in some})
    heard = {
        principle: frozenset[str]().union(*(said.get(each, ()) for each in some))
        for principle, some in families.items()
    }
    return approved | {principle for principle, some in heard.items() if len(some) >= least}
