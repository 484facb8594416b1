"""What is told to other programs of what is everybody's here, as plain JSON values."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from cortex_actors.rules import fusion
from cortex_actors.storage import memory_lists, resolutions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cortex_actors.domain.hit import Hit
    from cortex_actors.domain.principle import Principle
    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.storage.principle_decay import Evidence

#: Episodes of a memory that are told.
RECENT: Final = 3

#: What is told of a memory beside its text. (Not its attention: that says who has read it when.)
_TOLD: Final = ("agent", "realm", "layer", "type", "created_at")


def memory(hit: Hit) -> dict[str, Any]:
    """Return a memory: its text, where it lies, and how far it is from the question."""
    extra = hit.extra
    tags, parts = extra.get("tags"), extra.get("merged_from")
    return {
        "id": hit.id,
        "text": hit.text,
        "score": hit.score,
        "distance": far(hit),
        "tags": list(tags) if isinstance(tags, list) else [],
        "evidence": parts if isinstance(parts, int) and parts else 1,
        **{name: extra.get(name) for name in _TOLD},
    }


def found(hit: Hit, roots: Sequence[str] = ()) -> dict[str, Any]:
    """Return whatever was found, as another daemon gets it."""
    place = None if hit.path is None else f"{relative(hit.path, roots)}:{hit.line_start}"
    tags = hit.extra.get("tags")
    return {
        "id": hit.id,
        "text": hit.text,
        "score": hit.score,
        "collection": hit.store,
        "distance": far(hit),
        "project": hit.project,
        "place": place,
        "heading": hit.heading,
        "tags": list(tags) if isinstance(tags, list) else [],
        "agent": hit.extra.get("agent"),
    }


def far(hit: Hit) -> float | None:
    """Return how far a hit is from the question; None where nothing measured it."""
    cosine = hit.extra.get("cosine")
    return fusion.distance(cosine) if isinstance(cosine, float) else None


def surroundings(connection: Connection, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return what lies around memories: what they were made of, and what they replaced."""
    parts, before = memory_lists.originals(connection, ids), memory_lists.replaced(connection, ids)
    return {each: _around(parts.get(each, []), before.get(each)) for each in ids}


def statement(hit: Hit, roots: Sequence[str]) -> dict[str, Any]:
    """Return a statement as a fact of its project."""
    place = f"{relative(hit.path or '', roots)}:{hit.line_start}"
    observed = hit.extra.get("observed")
    return {
        "id": hit.id,
        "project": hit.project or "",
        "key": resolutions.key(hit.text, hit.heading),
        "value": hit.text,
        "why": f"{place} says so, seen {times(observed)}",
        "source": "file",
        "distance": far(hit),
    }


def principle(found_: Principle, known: Evidence | None) -> dict[str, Any]:
    """Return a principle as a fact of every project."""
    observed = known.observed if known else 0
    return {
        "id": found_.id,
        "project": "*",
        "key": resolutions.key(found_.content),
        "value": found_.content,
        "why": f"{found_.category} distilled from what projects say, seen {times(observed)}",
        "source": str(found_.origin),
        "distance": None,
    }


def times(number: object) -> str:
    """Return how often something was seen, in words."""
    return "once" if number in (0, 1, None) else f"{number} times"


def relative(path: str, roots: Iterable[str]) -> str:
    """Return a file's path within its project: where that lies is nobody else's business."""
    for root in sorted(roots, key=len, reverse=True):
        if PurePosixPath(path).is_relative_to(root):
            return str(PurePosixPath(path).relative_to(root))
    return PurePosixPath(path).name


def _around(
    parts: Sequence[memory_lists.Episode], before: memory_lists.Episode | None
) -> dict[str, Any]:
    """Return what lies around one memory."""
    return {
        "parts": len(parts),
        "latest_at": parts[0].created_at if parts else None,
        "recent": [_episode(each) for each in parts[:RECENT]],
        "replaced": None if before is None else _episode(before),
    }


def _episode(one: memory_lists.Episode) -> dict[str, Any]:
    """Return one episode."""
    return {"id": one.id, "text": one.text, "created_at": one.created_at}
