"""Principles as short as a test can say them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cortex_actors.domain.insight import hash_statement
from cortex_actors.domain.principle import (
    Derivation,
    Origin,
    Principle,
    PrincipleCategory,
    PrincipleStatus,
    make_principle_id,
)
from cortex_actors.storage.pipeline import principles
from cortex_actors.testing import EPOCH

if TYPE_CHECKING:
    from sqlalchemy import Connection


def principle(text: str, **given: Any) -> Principle:
    """Return a principle of that text."""
    digest = hash_statement(text)
    fields: dict[str, Any] = {
        "elaboration": None,
        "category": PrincipleCategory.HEURISTIC,
        "tags": (),
        "domains": (),
        "confidence": 0.7,
        "quality": 0.5,
        "rank": 0.5,
        "status": PrincipleStatus.ACTIVE,
        "origin": Origin.SINGLE,
        "text_hash": bytes.fromhex(digest),
        "created_at": EPOCH,
    }
    return Principle(
        id=make_principle_id(digest), content=text, content_hash=digest, **(fields | given)
    )


def distilled(connection: Connection, made: Principle, *insights: str) -> str:
    """Write a principle that comes of those insights in equal parts; return its id."""
    principles.add(connection, [made])
    share = 1 / len(insights) if insights else 0.0
    principles.derive(connection, [Derivation(made.id, each, share) for each in insights])
    return made.id
