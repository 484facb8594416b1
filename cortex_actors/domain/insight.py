"""An insight: one thing that instruction files say, however many of them say it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cortex_actors.domain.fragment import Fragment

#: Hex digits of the content hash that an insight's id keeps: 80 bits, so that a billion insights
#: still collide with a probability below one in a million.
ID_DIGITS = 20


class Category(StrEnum):
    """What kind of thing an insight says."""

    CONVENTION = "convention"
    PRINCIPLE = "principle"
    TECHNIQUE = "technique"
    WARNING = "warning"
    PREFERENCE = "preference"
    FACT = "fact"
    PATTERN = "pattern"


class InsightStatus(StrEnum):
    """Where an insight stands; nothing is deleted, it changes its status."""

    ACTIVE = "active"
    CONTRADICTED = "contradicted"
    SUPERSEDED = "superseded"
    PENDING_REVIEW = "pending_review"
    #: No source says it any more.
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class Insight:
    """A deduplicated piece of knowledge with its standing.

    Attributes:
        confidence: how far to believe it, 0 to 1, recomputed from the evidence at each run.
        observation_count: distinct file revisions and sources that confirm it.
        first_seen: UTC microseconds.
        last_seen: UTC microseconds.
        projects: names of the projects that say it, one for each: two folders may share a name
            and are still two voices.

    """

    id: str
    content: str
    content_hash: str
    category: Category
    tags: tuple[str, ...]
    domain: str | None
    confidence: float
    status: InsightStatus
    observation_count: int
    first_seen: int
    last_seen: int
    projects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InsightSource:
    """Where an insight was read; unique on (fragment_id, ordinal).

    Attributes:
        file_hash: the revision in which it was read; "" for a source that is looked up later,
            because which revisions said it are the observations.

    """

    insight_id: str
    fragment_id: str
    path: str
    project: str
    heading: str | None
    line_start: int
    line_end: int
    file_hash: str
    #: Which statement of the fragment, from 0; always 0 when whole sections are insights.
    ordinal: int = 0

    @classmethod
    def of(cls, insight_id: str, fragment: Fragment, *, ordinal: int = 0) -> InsightSource:
        """Return the source that says: this insight was read in this fragment."""
        return cls(
            insight_id=insight_id,
            fragment_id=fragment.id,
            path=fragment.source_path,
            project=fragment.source_project,
            heading=fragment.heading,
            line_start=fragment.line_start,
            line_end=fragment.line_end,
            file_hash=fragment.file_hash,
            ordinal=ordinal,
        )


def section_hash(content: str) -> str:
    """Return the SHA-256 of the trimmed text's UTF-8 bytes: equal sections are one insight."""
    return hashlib.sha256(content.strip().encode("utf-8", "surrogatepass")).hexdigest()


def insight_id(content_hash: str) -> str:
    """Return `ins_` and the first 20 hex digits of the content hash."""
    return f"ins_{content_hash[:ID_DIGITS]}"
