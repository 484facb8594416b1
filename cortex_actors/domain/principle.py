"""A principle: what several projects have taught us, distilled and ranked."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cortex_actors.domain.insight import ID_DIGITS, Category


class PrincipleCategory(StrEnum):
    """What kind of lesson a principle is."""

    LEARNING = "learning"
    PRINCIPLE = "principle"
    MORAL = "moral"
    HEURISTIC = "heuristic"
    ANTI_PATTERN = "anti_pattern"


#: What an insight becomes, by its category (Cerno).
BECOMES: Final = {
    Category.CONVENTION: PrincipleCategory.HEURISTIC,
    Category.PRINCIPLE: PrincipleCategory.PRINCIPLE,
    Category.TECHNIQUE: PrincipleCategory.LEARNING,
    Category.WARNING: PrincipleCategory.ANTI_PATTERN,
    Category.PREFERENCE: PrincipleCategory.HEURISTIC,
    Category.FACT: PrincipleCategory.LEARNING,
    Category.PATTERN: PrincipleCategory.PRINCIPLE,
}


class Origin(StrEnum):
    """What a principle was made of."""

    #: One insight.
    SINGLE = "single"
    #: The centre of a cluster whose insights have earned it together.
    CLUSTER = "cluster"
    #: All of a cluster, in one sentence that a language model wrote.
    SYNTHESIS = "synthesis"


class PrincipleStatus(StrEnum):
    """Whether a principle is given out; none is deleted for being old, and all can come back."""

    ACTIVE = "active"
    DECAYING = "decaying"
    PRUNED = "pruned"


@dataclass(frozen=True, slots=True)
class Principle:
    """One lesson.

    Attributes:
        elaboration: what it was made of, quoted, where that is more than its own words.
        tags: at most five, those of the insight whose words it has first.
        confidence: how far to believe it, 0 to 1, made of the evidence at each run.
        quality: how good its sources are, 0 to 1.
        rank: how much it matters, 0 to 1.
        text_hash: the SHA-256 of what is embedded of it, by which its vector is found.
        created_at: UTC microseconds.

    """

    id: str
    content: str
    content_hash: str
    elaboration: str | None
    category: PrincipleCategory
    tags: tuple[str, ...]
    domains: tuple[str, ...]
    confidence: float
    quality: float
    rank: float
    status: PrincipleStatus
    origin: Origin
    text_hash: bytes
    created_at: int


@dataclass(frozen=True, slots=True)
class Derivation:
    """What a principle owes to one insight: the share of its observations, 0 to 1."""

    principle_id: str
    insight_id: str
    weight: float


def principle_id(content_hash: str) -> str:
    """Return `pri_` and the first 20 hex digits of the content hash."""
    return f"pri_{content_hash[:ID_DIGITS]}"


def of_insight(insight_id: str) -> str:
    """Return the id of the principle that has an insight's words: both are made of their hash."""
    return f"pri_{insight_id.removeprefix('ins_')}"
