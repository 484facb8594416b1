"""An insight: one thing that instruction files say, however many of them say it.

What two statements are to each other, and who says so.

A judgement is symmetric: it is the same whichever of the two was read first. It travels from the
rules, an entailment model, a language model or a person into the ledger, which keeps who decided
and why.

In which orders people look through what was learned.
"""

from __future__ import annotations

import hashlib
import unicodedata
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from cortex_actors.domain.project import Fragment, Statement, StatementKind


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
    """The status of an insight; nothing is deleted, it changes its status."""

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
    """A deduplicated piece of knowledge with its status.

    Attributes:
        confidence: how far to believe it, 0 to 1, recomputed from the evidence at each run.
        observation_count: days, of each project, on which a scan or a new revision found it.
        first_seen: UTC microseconds.
        last_seen: UTC microseconds.
        projects: names of the projects that say it, one for each: two folders may share a name
            and are still two voices.
        heading: its heading at the first of its places.
        kind: what it does at that place; None for a section.
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
        said_id: the insight whose text is at this place, where that is another one: the two were
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
        """The insight whose text is at this place."""
        return self.said_id or self.insight_id

    @classmethod
    def from_fragment(
        cls, insight_id: str, fragment: Fragment, *, scope: str = ""
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
            scope=scope,
        )

    @classmethod
    def from_statement(
        cls, insight_id: str, fragment: Fragment, statement: Statement, *, scope: str = ""
    ) -> InsightSource:
        """Return the source that says: this insight is a statement of this fragment.

        Its `fragment_id` is the fragment's stance.
        """
        return replace(
            cls.from_fragment(insight_id, fragment, scope=scope),
            fragment_id=fragment.stance,
            heading=statement.heading or None,
            line_start=statement.line_start,
            line_end=statement.line_end,
            ordinal=statement.ordinal,
            kind=statement.kind,
        )


def hash_section(content: str) -> str:
    """Return the SHA-256 of the trimmed text's UTF-8 bytes: equal sections are one insight."""
    return hashlib.sha256(content.strip().encode("utf-8", "surrogatepass")).hexdigest()


def hash_statement(text: str) -> str:
    """Return the SHA-256 of a statement in normal form C, its white space collapsed.

    So neither a line break nor how an accent is written makes two insights of one.
    """
    plain = " ".join(unicodedata.normalize("NFC", text).split())
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()


def make_insight_id(content_hash: str) -> str:
    """Return `ins_` and the first 20 hex digits of the content hash."""
    return f"ins_{content_hash[:ID_DIGITS]}"


class Relation(StrEnum):
    """What two statements are to each other; exactly one holds."""

    #: Not both can be followed.
    CONTRADICTION = "contradiction"
    #: One claim in two wordings: they may be merged.
    SAME = "same"
    #: About one thing, and both may hold.
    RELATED = "related"
    UNRELATED = "unrelated"


class Conflict(StrEnum):
    """How far two statements contradict each other."""

    #: Wherever one holds, the other cannot.
    DIRECT = "direct"
    #: One leaves room where the other leaves none: a condition, an exception, a weaker word.
    PARTIAL = "partial"
    #: They hold at different places, one of which lies within the other.
    CONTEXTUAL = "contextual"


class Decider(StrEnum):
    """Which layer decided; each asks less often, and costs more, than the one before."""

    RULES = "rules"
    NLI = "nli"
    LLM = "llm"
    AGENT = "agent"
    PERSON = "person"


@dataclass(frozen=True, slots=True, order=True)
class Claim:
    """One statement as it is judged.

    Attributes:
        text: the statement itself, as the file has it.
        heading: the headings above it, outermost first, joined by " > "; None without any.
        scope: where in the project it holds: a folder or globs; empty for all of it.

    """

    text: str
    heading: str | None = None
    scope: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one layer found two statements to be.

    Attributes:
        reason: why, in words a person can check against both texts.
        conflict: how far they contradict each other; None unless they do.
        confidence: how sure the layer is, 0 to 1.
        fuller: of two that are one claim the text that says more; "" where neither does.

    """

    relation: Relation
    decider: Decider
    reason: str
    conflict: Conflict | None = None
    confidence: float = 1.0
    fuller: str = ""

    @property
    def contradicts(self) -> bool:
        """Whether the two cannot both be followed."""
        return self.relation is Relation.CONTRADICTION


#: The value for insights whose domain is not known.
NO_DOMAIN: Final = "none"

#: The value for every status, and the one for those of what is said and shown.
ALL: Final = "all"
SHOWN: Final = "live"


class InsightSort(StrEnum):
    """What comes first in a list of insights."""

    #: The most believed.
    SURE = "sure"
    #: What most revisions of files said.
    SEEN = "seen"
    #: What was learned last, and what was learned first.
    NEWEST = "newest"
    OLDEST = "oldest"
    #: Whose category the classifier was least sure of.
    DOUBT = "doubt"


class ConflictChoice(StrEnum):
    """Which contradictions are listed, by how far the two conflict."""

    DIRECT = "direct"
    PARTIAL = "partial"
    CONTEXTUAL = "contextual"
    ALL = "all"


class PairChoice(StrEnum):
    """What a person says of two texts where no more is asked than whether they are one."""

    SAME = "same"
    APART = "apart"
    #: Nothing any more: what was said is taken back.
    OPEN = "open"


class AgentVerdict(StrEnum):
    """What an agent says of two texts."""

    SAME = "same"
    CONTRADICT = "contradict"
    #: Both may hold, and they are two.
    APART = "apart"
    #: It is left to others.
    UNSURE = "unsure"
    #: Nothing any more: what was said is taken back.
    OPEN = "open"


class PrincipleSort(StrEnum):
    """What comes first in a list of principles."""

    #: What matters most.
    RANK = "rank"
    #: The most believed.
    SURE = "sure"
    #: What most revisions of files said.
    SEEN = "seen"
    #: What has links with most other principles.
    LINKED = "linked"
    #: What was distilled last, and what was distilled first.
    NEWEST = "newest"
    OLDEST = "oldest"


class MemorySort(StrEnum):
    """What comes first in a list of memories, behind those that are pinned."""

    NEWEST = "newest"
    OLDEST = "oldest"
    #: What was read most often.
    READ = "read"
