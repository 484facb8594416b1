"""Projects that agree, and what the program may do to their files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex_actors.render import fence
from cortex_actors.testing import settled

if TYPE_CHECKING:
    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.tree import Tree

#: What two projects agree on is a principle at once, and a file receives all of it: with vectors
#: that mean nothing, what is near to what is chance. A person has to approve it, as always.
ASKED: dict[str, Any] = {
    "reconciliation": {
        "promotion_age_days": 0,
        "promotion_observations": 2,
        "promotion_confidence": 0.55,
    },
    "resolution": {"least": 0.0, "settle_ms": 5, "grace_s": 0.05},
}

#: The same for tests about something else than approval.
AGREED: dict[str, Any] = {**ASKED, "resolution": {**ASKED["resolution"], "unapproved": True}}

#: Everything that a cycle must leave as it is. Times of runs, and what is counted by looking, are
#: no knowledge.
STANDING = {
    "insights": "SELECT id, status, superseded_by, confidence, last_seen_at FROM insights",
    "sources": "SELECT fragment_id, ordinal, insight_id, line_start, line_end, withdrawn_at "
    "FROM insight_sources",
    "observations": "SELECT source_id, file_hash, at FROM observations",
    "clusters": "SELECT cluster_id, insight_id FROM cluster_insights",
    "contradictions": "SELECT insight_a, insight_b, status FROM contradictions",
    "principles": "SELECT id, content, status, confidence, quality, rank, strikes FROM principles",
    "derivations": "SELECT principle_id, insight_id, weight FROM derivations",
    "links": "SELECT source_id, target_id, type, strength FROM principle_links",
    "resolutions": "SELECT path, agent, revision, inputs, section FROM resolutions",
    "bullets": "SELECT path, agent, ordinal, principle_id, text, conflict FROM resolved_bullets",
    "writes": "SELECT seq, path, state FROM file_writes",
}


async def standing(tree: Tree) -> dict[str, list[tuple[Any, ...]]]:
    """Return what the ledger holds, table by table, in an order of its own."""

    def rows(connection: Connection) -> dict[str, list[tuple[Any, ...]]]:
        return {
            name: sorted((tuple(row) for row in connection.exec_driver_sql(query)), key=repr)
            for name, query in STANDING.items()
        }

    return await tree.parts.records.read(rows)


def held(*roots: Path) -> dict[str, bytes]:
    """Return every file of the projects with its bytes."""
    return {
        str(path): path.read_bytes()
        for root in roots
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def touched(*roots: Path) -> dict[str, tuple[int, int]]:
    """Return every file of the projects with what a write of it would change."""
    return {
        path: (Path(path).stat().st_ino, Path(path).stat().st_mtime_ns) for path in held(*roots)
    }


def theirs(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files as they are without our sections."""
    return {path: fence.remove(data) for path, data in files.items()}


def section(path: Path) -> str:
    """Return what stands between our marks in a file; empty where there are none."""
    found = fence.find(path.read_bytes())
    return "" if found is None else path.read_bytes()[found.start : found.end].decode()


async def organised(tree: Tree) -> None:
    """Return once everything that was learned is weighed and distilled."""
    await settled(tree)
    await tree.cortex.reconcile()
    await settled(tree)
    await tree.cortex.organise()
    await settled(tree)
