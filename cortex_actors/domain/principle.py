"""A principle: what several projects have taught us, distilled and ranked."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cortex_actors.domain.insight import Category


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


@dataclass(frozen=True, slots=True)
class Principle:
    """One lesson; `insight_id` is what it was derived from."""

    id: str
    content: str
    content_hash: str
    category: PrincipleCategory
    tags: tuple[str, ...]
    domains: tuple[str, ...]
    confidence: float
    rank: float
    created_at: int
    insight_id: str
