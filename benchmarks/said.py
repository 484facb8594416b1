"""What the benchmarks of the ledger say: events that somebody hears and events that nobody does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cortex_actors import topics
from cortex_actors.domain.event import Custom, FileChanged

if TYPE_CHECKING:
    from cortex_actors.domain.event import Payload

#: A topic of another process's own: a row in `events` and no more.
UNHEARD: Final = "custom:bench"

#: A topic with one consumer: a row in `deliveries`, too.
HEARD: Final = topics.FILE_CHANGED


def fields(number: int) -> dict[str, str]:
    """Return what the event of that number says, as JSON fields; the same on either topic."""
    return {"project_id": "prj_bench", "path": f"/home/me/projects/{number}/CLAUDE.md"}


def payload(topic: str, number: int) -> Payload:
    """Return the same as the product takes it."""
    said = fields(number)
    return FileChanged(**said) if topic == HEARD else Custom(said)
