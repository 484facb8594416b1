"""What the ledger says of files: whose they are, what was read, and what waits to be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select

from cortex_actors.storage import projects, reviews
from cortex_actors.storage.schema import deliveries, events, insight_sources
from cortex_actors.topics import FILE_CHANGED, SCAN_REQUESTED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from cortex_actors.domain.project import Project, Revocation
    from cortex_actors.storage.projects import FileState

#: Who reads files.
_READER = "accumulator"


@dataclass(frozen=True, slots=True)
class Learned:
    """The ledger's view of every followed project's files, at one moment."""

    projects: tuple[Project, ...]
    #: By path, whatever project they were read for.
    files: Mapping[str, FileState]
    #: Paths that something known is said to stand at.
    spoken: frozenset[str]
    #: Paths that wait to be read, and whether all of them do.
    waiting: frozenset[str]
    scan: bool
    #: What was taken back: its files are not read.
    revoked: tuple[Revocation, ...] = ()

    def is_revoked(self, project_id: str, path: str) -> bool:
        """Tell whether a file was taken back."""
        return any(each.covers(project_id, path) for each in self.revoked)


def learned(opened: Connection, _model: str = "") -> Learned:
    """Return what the ledger knows of files."""
    followed = projects.followed(opened)
    states = {
        path: state for each in followed for path, state in projects.files(opened, each.id).items()
    }
    said = select(insight_sources.c.path).distinct().where(insight_sources.c.withdrawn_at.is_(None))
    changed = (
        select(deliveries.c.key)
        .join(events, events.c.seq == deliveries.c.seq)
        .where(deliveries.c.consumer == _READER, events.c.topic == FILE_CHANGED)
    )
    scans = (
        select(deliveries.c.seq)
        .join(events, events.c.seq == deliveries.c.seq)
        .where(events.c.topic == SCAN_REQUESTED)
        .limit(1)
    )
    return Learned(
        projects=tuple(followed),
        files=states,
        spoken=frozenset(opened.execute(said).scalars()),
        waiting=frozenset(opened.execute(changed).scalars()),
        scan=opened.execute(scans).first() is not None,
        revoked=tuple(reviews.standing(opened)),
    )
