"""Probes: what the daemon remembers to try itself; see `checkup.roundtrip`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from cortex_actors.domain.memory import PROBE, MemoryStatus
from cortex_actors.storage.schema import memories

if TYPE_CHECKING:
    from sqlalchemy import Connection


def left(connection: Connection) -> list[str]:
    """Return the ids of the probes that are there, oldest first: a crash left them.

    What is part of another one goes with it, so wholes alone are named.
    """
    query = select(memories.c.id).where(
        memories.c.agent_id == PROBE, memories.c.status != MemoryStatus.MERGED
    )
    return list(connection.execute(query.order_by(memories.c.id)).scalars())
