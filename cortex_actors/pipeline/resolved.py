"""What a resolution leaves behind: its row in the audit, and how the file stands now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex_actors.clock import ulid
from cortex_actors.domain.event import ResolutionComplete
from cortex_actors.domain.principle import Ending
from cortex_actors.storage import principles, projects, resolutions, reviews
from cortex_actors.storage.resolutions import Resolution

if TYPE_CHECKING:
    from cortex_actors.domain.principle import Resolved
    from cortex_actors.pipeline.assignment import Assignment
    from cortex_actors.pipeline.resolving import Done
    from cortex_actors.storage.ledger.actor import Connection

#: Refusals that time mends: what they kept from being written is tried again unasked.
PASSING = frozenset("being-saved being-written editor git-lock keeps-changing moved torn".split())

#: How a run ended that ended like this.
_STATES = {
    Ending.WRITTEN: "completed",
    Ending.SHOWN: "completed",
    Ending.UNCHANGED: "unchanged",
    Ending.EDITED: projects.FAILED,
    Ending.REFUSED: projects.FAILED,
}

#: What the audit calls the actor.
KIND = "resolver"

#: Of the counts: that a write was taken back.
UNDONE = "undone"


@dataclass(frozen=True, slots=True)
class Finished:
    """A resolution that has ended; nothing of it is in the ledger before `write`.

    A crash before that leaves a file that is whole, and the same resolution finds nothing to do.
    """

    run: projects.Run
    resolved: Resolved | None = None
    row: Resolution | None = None

    @property
    def said(self) -> ResolutionComplete:
        """What is told of it."""
        return ResolutionComplete(self.run.id, self.run.path or "", self.run.agent or "")

    def write(self, connection: Connection) -> None:
        """Write the audit, and how the file stands now."""
        projects.record(connection, self.run)
        if self.row is not None and self.resolved is not None:
            resolutions.keep(connection, self.row, self.resolved.bullets)


def finished(
    job: Assignment, done: Done, *, run_id: str, inputs: str, times: tuple[int, int]
) -> Finished:
    """Return what is kept of a resolution; where nothing was to be written, no more than the run.

    `inputs` names all that it was made of.
    """
    found = done.resolved
    dry = job.wish.dry_run
    run = projects.Run(
        id=run_id,
        kind=KIND,
        started_at=times[0],
        finished_at=times[1],
        state=_STATES[found.ending],
        project_id=job.project.id,
        path=found.path,
        counts=found.counts,
        error=found.reason,
        agent=found.agent,
        dry_run=dry,
    )
    if dry or done.is_absent:
        return Finished(run, found)
    row = Resolution(
        path=found.path,
        agent=found.agent,
        project_id=job.project.id,
        run_id=run_id,
        revision=done.revision,
        inputs="" if found.refusal in PASSING else inputs,
        section=found.section,
        ending=found.ending,
        reason=found.reason,
        resolved_at=times[1],
    )
    return Finished(run, found, row)


def outdated(connection: Connection, done: Finished) -> bool:
    """Tell whether a file that was written has a bullet that nobody may be given any more.

    That of a write which was taken back may be older: it only has to be none that was taken back
    since that was asked for.
    """
    found, row = done.resolved, done.row
    if found is None or row is None or row.ending not in resolutions.STANDS:
        return False
    ids = {each.principle_id for each in found.bullets}
    lost = ids - principles.still_given(connection, ids)
    if UNDONE not in found.counts:
        return bool(lost)
    newest = max((each.at for each in reviews.standing(connection)), default=0)
    return bool(lost) and newest >= done.run.started_at


def failed(
    path: str, agent: str, reason: str, *, at: int, project_id: str | None = None
) -> Finished:
    """Return what is kept of a wish that is about no file of anybody's."""
    run = projects.Run(
        id=f"run_{ulid(at)}",
        kind=KIND,
        started_at=at,
        finished_at=at,
        state=projects.FAILED,
        project_id=project_id,
        path=path,
        error=reason,
        agent=agent,
    )
    return Finished(run)
