"""An insight: one thing that instruction files say, however many of them say it."""

from __future__ import annotations

import hashlib
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cortex_actors.domain.fragment import Fragment
    from cortex_actors.domain.statement import Statement, StatementKind

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


class Granularity(StrEnum):
    """What one insight is."""

    #: One statement: a list item, a paragraph, a table row, a command.
    STATEMENT = "statement"
    #: A whole section, as the document has it.
    SECTION = "section"


class InsightStatus(StrEnum):
    """Where an insight stands; nothing is deleted, it changes its status."""

    ACTIVE = "active"
    CONTRADICTED = "contradicted"
    SUPERSEDED = "superseded"
    PENDING_REVIEW = "pending_review"
    #: No source says it any more.
    WITHDRAWN = "withdrawn"


#: What files say and people see: shown, found, grouped. (Only what is active is promoted.)
LIVE = frozenset({InsightStatus.ACTIVE, InsightStatus.CONTRADICTED})


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
        heading: what it stands under at the first of its places.
        kind: what it does, as it stands there; None for a section.
        verdict: how sure the classifier is of the category, 0 to 1.
        review: why a person has to look at it first; None for what may be used.

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
    heading: str | None = None
    granularity: Granularity = Granularity.SECTION
    kind: StatementKind | None = None
    verdict: float | None = None
    review: str | None = None


@dataclass(frozen=True, slots=True)
class InsightSource:
    """Where an insight was read; unique on (fragment_id, ordinal).

    Attributes:
        insight_id: the insight for which it counts.
        file_hash: the revision in which it was read; "" for a source that is looked up later,
            because which revisions said it are the observations.
        ordinal: which statement of the fragment, from 0; 0 when whole sections are insights.
        scope: where in the project it holds: a folder, or globs; "" for all of it.
        said_id: the insight whose text stands there, where that is another one: the two were
            found to say the same.

    """

    insight_id: str
    fragment_id: str
    path: str
    project: str
    heading: str | None
    line_start: int
    line_end: int
    file_hash: str
    ordinal: int = 0
    kind: StatementKind | None = None
    scope: str = ""
    said_id: str = ""

    @property
    def spot(self) -> tuple[str, int]:
        """What no two sources share: the fragment, and which of its statements."""
        return self.fragment_id, self.ordinal

    @property
    def said(self) -> str:
        """The insight whose text stands there."""
        return self.said_id or self.insight_id

    @classmethod
    def of(
        cls, insight_id: str, fragment: Fragment, *, ordinal: int = 0, scope: str = ""
    ) -> InsightSource:
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
            scope=scope,
        )

    @classmethod
    def of_statement(
        cls, insight_id: str, fragment: Fragment, statement: Statement, *, scope: str = ""
    ) -> InsightSource:
        """Return the source that says: this insight is a statement of this fragment.

        Its `fragment_id` is the fragment's stance.
        """
        return cls(
            insight_id=insight_id,
            fragment_id=fragment.stance,
            path=fragment.source_path,
            project=fragment.source_project,
            heading=statement.heading or None,
            line_start=statement.line_start,
            line_end=statement.line_end,
            file_hash=fragment.file_hash,
            ordinal=statement.ordinal,
            kind=statement.kind,
            scope=scope,
        )


def section_hash(content: str) -> str:
    """Return the SHA-256 of the trimmed text's UTF-8 bytes: equal sections are one insight."""
    return hashlib.sha256(content.strip().encode("utf-8", "surrogatepass")).hexdigest()


def statement_hash(text: str) -> str:
    """Return the SHA-256 of a statement in normal form C, its white space collapsed.

    So neither a line break nor how an accent is written makes two insights of one.
    """
    plain = " ".join(unicodedata.normalize("NFC", text).split())
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()


def insight_id(content_hash: str) -> str:
    """Return `ins_` and the first 20 hex digits of the content hash."""
    return f"ins_{content_hash[:ID_DIGITS]}"
