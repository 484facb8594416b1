"""Principles as insights become them, for tests that need rows and no organiser."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from cortex_actors.domain.insight import Granularity
from cortex_actors.domain.principle import BECOMES, Principle, make_principle_id
from cortex_actors.rules.promotion import compute_rank, list_parts
from cortex_actors.storage.embeddings import make_text

if TYPE_CHECKING:
    from cortex_actors.domain.insight import Insight

#: How good sources are of which nothing is known (Cerno).
QUALITY = 0.5


def make_principle(insight: Insight, now: int) -> Principle:
    """Return the principle that an insight becomes by itself."""
    text = make_text(insight.heading, insight.content)
    digest = sha256(text.encode("utf-8", "surrogatepass")).digest()
    if insight.granularity is Granularity.STATEMENT:
        digest = bytes.fromhex(insight.content_hash)
    return Principle(
        id=make_principle_id(insight.content_hash),
        content=insight.content,
        content_hash=insight.content_hash,
        category=BECOMES[insight.category],
        tags=insight.tags,
        domains=(insight.domain,) if insight.domain else (),
        confidence=insight.confidence,
        quality=QUALITY,
        rank=compute_rank(
            list_parts(insight.confidence, insight.observation_count, quality=QUALITY)
        ),
        text_hash=digest,
        created_at=now,
    )
