"""What one agent remembers, makes one, takes apart, replaces and forgets, step by step.

Each step may be begun again: whoever was killed in it does not know whether it was done. What is
known in the end is the same however often somebody was.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from cortex_actors.domain.agent import Caller

if TYPE_CHECKING:
    from pathlib import Path

    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.tree import Tree

#: Who remembers.
ME = Caller("CLAUDE")

#: What is said, twice the same thing; what replaces something; and what is forgotten.
SAID, AGAIN = "Redis listens on port 6379", "Redis listens on port 6379 by default"
OLD, NEW = "Deploys happen on Fridays", "Deploys happen on Mondays since the spring"
GONE, POSTED, AWAY = "The pin of the door is a riddle", "Who deploys today", "Atlas was a server"

#: What others are part of.
_WHOLES = (
    "SELECT w.id FROM memories w WHERE w.status = 'active'"
    " AND EXISTS (SELECT 1 FROM memories p WHERE p.merged_into = w.id)"
)

#: What must be the same however often a run was interrupted: all but times and ids.
CONTENT = {
    "memories": "SELECT m.text, m.status, m.realm, m.agent_id, m.thread, m.layer, m.type,"
    " m.merged_as, m.merge_due, w.text, r.text FROM memories m"
    " LEFT JOIN memories w ON w.id = m.merged_into LEFT JOIN memories r ON r.id = m.replaced_by",
    "found": "SELECT collection, place, text FROM passages WHERE item_id GLOB 'mem_*'",
    "believed": "SELECT text, count(*), sum(ended_at IS NULL) FROM beliefs"
    " JOIN memories ON id = memory_id GROUP BY id",
    "changes": "SELECT c.kind, m.text, c.undone_at IS NULL FROM memory_changes c"
    " LEFT JOIN memories m ON m.id = c.memory_id",
    "apart": "SELECT min(l.text, r.text), max(l.text, r.text) FROM memory_apart"
    " JOIN memories l ON l.id = left_id JOIN memories r ON r.id = right_id",
    "tags": "SELECT text, tag FROM memory_tags JOIN memories ON id = memory_id",
    "crumbs": "SELECT agent_id, summary, unfinished FROM crumbs",
    "vectors": "SELECT DISTINCT text, hex(vector) FROM memories JOIN vectors USING (text_hash)",
    "events": "SELECT topic, count(*) FROM events WHERE topic GLOB 'memory:*' GROUP BY 1",
    "waiting": "SELECT consumer, seq FROM deliveries",
}


async def remember(tree: Tree, _folder: Path) -> None:
    """Remember something."""
    await _say(tree, SAID, tags=["redis"])


async def remember_again(tree: Tree, _folder: Path) -> None:
    """Remember the same in other words."""
    await _say(tree, AGAIN)


async def split(tree: Tree, _folder: Path) -> None:
    """Take apart what became one."""
    for name in await _named(tree, _WHOLES):
        await tree.cortex.split(name, caller=ME)


async def replace(tree: Tree, _folder: Path) -> None:
    """Remember something, and then that something else holds now."""
    await _say(tree, OLD)
    old = await _named(tree, "SELECT id FROM memories WHERE text = ?", OLD)
    await _say(tree, NEW, supersedes=old)


async def put_away(tree: Tree, _folder: Path) -> None:
    """Remember something and take it out of sight."""
    await _say(tree, AWAY)
    query = "SELECT id FROM memories WHERE text = ? AND status = 'active'"
    if some := await _named(tree, query, AWAY):
        await tree.cortex.archive(some, caller=ME)


async def bring_back(tree: Tree, _folder: Path) -> None:
    """Bring that back."""
    query = "SELECT id FROM memories WHERE text = ? AND status = 'archived'"
    if some := await _named(tree, query, AWAY):
        await tree.cortex.restore(some, caller=ME)


async def keep_a_secret(tree: Tree, _folder: Path) -> None:
    """Remember something that will be forgotten."""
    await _say(tree, GONE)


async def forget(tree: Tree, _folder: Path) -> None:
    """Forget it."""
    if some := await _named(tree, "SELECT id FROM memories WHERE text = ?", GONE):
        await tree.cortex.forget(some, caller=ME)


async def post(tree: Tree, _folder: Path) -> None:
    """Say something to everybody; twice would be said twice, so it is looked for."""
    if not await _named(tree, "SELECT id FROM memories WHERE text = ?", POSTED):
        await tree.cortex.post(POSTED, caller=ME)


async def leave_a_crumb(tree: Tree, _folder: Path) -> None:
    """Leave a crumb, unless it lies there."""
    if not await _named(tree, "SELECT id FROM crumbs"):
        await tree.cortex.leave_crumb("halfway", unfinished_business=["the end"], caller=ME)


#: The steps, in order.
STEPS = (
    remember,
    remember_again,
    split,
    replace,
    put_away,
    bring_back,
    keep_a_secret,
    forget,
    post,
    leave_a_crumb,
)


async def _say(tree: Tree, text: str, **how: Any) -> None:
    """Remember a text, once for however many lives try it; the key does not tell the text."""
    key = blake2b(text.encode(), digest_size=8).hexdigest()
    await tree.cortex.remember(text, type="fact", idempotency_key=key, caller=ME, **how)


async def _named(tree: Tree, query: str, *values: object) -> list[str]:
    """Return the ids that a query finds."""

    def found(connection: Connection) -> list[str]:
        return [row[0] for row in connection.exec_driver_sql(query, values)]

    return await tree.parts.records.read(found)
