"""Coming back: what was taken back stands in older sections, and an undo would bring one of these.

A write that took poison out is a write like any other; undoing it would put the poison in again,
and nobody would know, because what stood in an older section is no longer told by principle.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cortex_actors.domain.principle import Given
from cortex_actors.domain.project import Decision
from cortex_actors.errors import CortexError, Refused
from cortex_actors.files.journal import State
from cortex_actors.render import fence
from cortex_actors.render.section import neutral
from cortex_actors.storage import principles, projects, reviews

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.files.journal import Entry
    from cortex_actors.storage.ledger.actor import Connection

#: What a line of a section begins with that is a principle.
BULLET = "- "

#: Before a bullet that contradicts its file, and behind one, as `formatters/section.py` has them.
_CONFLICT = "[CONFLICT] "
_WORTH = re.compile(r" \*\(confidence: [\d.]+, rank: [\d.]+\)\*\Z")


def refuse(connection: Connection, path: str) -> None:
    """Raise `Refused` where undoing the newest write would bring back what was taken back.

    That is a bullet which is no principle now, in a section that is older than some revocation.
    """
    done = projects.of(connection, path, 2, state=State.DONE)
    if not done or not _is_newer(connection, done):
        return
    lines = _bullets(done[0].before or b"")
    texts = _texts(connection) if lines else set()
    # Whole texts: one that was taken back may begin with, or hold, one that was not.
    lost = [line for line in lines if _said(line) not in texts]
    if lost:
        message = (
            f"refused to undo the last write into {path}: it would bring back what was taken back "
            f"since ({lost[0][:80]}); lift that with cortex revoke --undo, or edit the file"
        )
        raise Refused(message)


def known(connection: Connection, lines: Sequence[str]) -> list[Given]:
    """Return of which principles the bullets of an older section are, as far as they are known.

    Somebody may take one of these back later, too, and then asks in which files it stands.
    """
    every = principles.by_ids(connection, principles.ids(connection) if lines else ())
    texts = {neutral(each.content): name for name, each in every.items()}
    said = [(_said(line.removeprefix(BULLET)), line) for line in lines]
    return [Given(texts[text], line) for text, line in said if text in texts]


def _is_newer(connection: Connection, done: list[Entry]) -> bool:
    """Tell whether something was taken back since the section was written that would come back."""
    gone = [each.at for each in reviews.standing(connection)]
    gone += [each.at for each in reviews.list_approvals(connection, Decision.REJECTED)]
    written = done[1].began_at if len(done) > 1 else 0
    return any(each >= written for each in gone)


def _bullets(data: bytes) -> list[str]:
    """Return the bullets of the section that a file had; none where nobody can tell."""
    try:
        found = fence.find(data)
    except CortexError:
        return []
    body = "" if found is None else found.body.decode("utf-8", "replace")
    return [line.removeprefix(BULLET) for line in body.split("\n") if line.startswith(BULLET)]


def _said(line: str) -> str:
    """Return a bullet's text without our mark before it and what it is worth behind it."""
    return _WORTH.sub("", line.removeprefix(_CONFLICT))


def _texts(connection: Connection) -> set[str]:
    """Return what every principle says that nobody took back or rejected, as a section has it."""
    ids = set(principles.ids(connection)) - reviews.principles(connection)
    ids -= {each.principle_id for each in reviews.list_approvals(connection, Decision.REJECTED)}
    return {neutral(each.content) for each in principles.by_ids(connection, ids).values()}
