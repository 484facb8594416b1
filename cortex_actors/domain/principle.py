"""A principle: what several projects have taught us, distilled and ranked.

How two principles are related, and who says so.

A resolution: what is known, brought into one instruction file for one agent.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from cortex_actors.domain.insight import ID_DIGITS, Category, Decider

if TYPE_CHECKING:
    from collections.abc import Mapping


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


@dataclass(frozen=True, slots=True, kw_only=True)
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
    elaboration: str | None = None
    category: PrincipleCategory
    tags: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    confidence: float = 0.0
    quality: float = 0.0
    rank: float = 0.0
    status: PrincipleStatus = PrincipleStatus.ACTIVE
    origin: Origin = Origin.SINGLE
    text_hash: bytes
    created_at: int


@dataclass(frozen=True, slots=True)
class Derivation:
    """What a principle owes to one insight: the share of its observations, 0 to 1."""

    principle_id: str
    insight_id: str
    weight: float


def make_principle_id(content_hash: str) -> str:
    """Return `pri_` and the first 20 hex digits of the content hash."""
    return f"pri_{content_hash[:ID_DIGITS]}"


def derive_id(insight_id: str) -> str:
    """Return the id of the principle that has an insight's words: both are made of their hash."""
    return f"pri_{insight_id.removeprefix('ins_')}"


class LinkType(StrEnum):
    """What the source of a link does to its target; exactly one holds between two principles."""

    #: Both ask for the same: each makes the other more credible.
    REINFORCES = "reinforces"
    #: The source says for more what the target says for less.
    GENERALIZES = "generalizes"
    #: The source says for less what the target says for more.
    SPECIALIZES = "specializes"
    #: Not both can be followed.
    CONTRADICTS = "contradicts"
    #: What the source asks for needs what the target asks for first.
    DEPENDS_ON = "depends_on"
    #: They are about one thing.
    RELATED = "related"


#: What a link is called from its other end; every other one reads the same from both.
_OPPOSITE = {LinkType.GENERALIZES: LinkType.SPECIALIZES, LinkType.SPECIALIZES: LinkType.GENERALIZES}


@dataclass(frozen=True, slots=True)
class Link:
    """One principle towards another.

    Attributes:
        strength: 0 to 1: how alike the two are, or how sure it is that one contradicts or needs
            the other.
        decided_by: which layer says so.
        reason: why, in words a person can check against both texts.

    """

    source_id: str
    target_id: str
    type: LinkType
    strength: float
    decided_by: Decider
    reason: str

    @property
    def pair(self) -> tuple[str, str]:
        """The two, the lesser id first."""
        one, other = sorted((self.source_id, self.target_id))
        return one, other

    @property
    def supports(self) -> bool:
        """Whether it makes its ends count for more: a contradiction does not."""
        return self.type is not LinkType.CONTRADICTS

    def find_other_end(self, principle_id: str) -> str:
        """Return the end that is not this one."""
        return self.target_id if self.source_id == principle_id else self.source_id

    def normalise(self) -> Link:
        """Return it as the ledger keeps it: once for each pair, from the lesser id.

        Only what depends on another keeps its order, because nothing says the opposite of it.
        """
        is_turned = self.source_id > self.target_id and self.type is not LinkType.DEPENDS_ON
        return self.reverse() if is_turned else self

    def view_from(self, principle_id: str) -> Link:
        """Return it as read from one of its ends, as far as it can be read from there.

        What is depended on stays the target: then the link reads "is needed by".
        """
        is_there = self.source_id == principle_id or self.type is LinkType.DEPENDS_ON
        return self if is_there else self.reverse()

    def reverse(self) -> Link:
        """Return the same, as read from the other end."""
        kind = _OPPOSITE.get(self.type, self.type)
        return replace(self, source_id=self.target_id, target_id=self.source_id, type=kind)


class Ending(StrEnum):
    """How a resolution ended."""

    WRITTEN = "written"
    #: The file says already what it would be given.
    UNCHANGED = "unchanged"
    #: A human wrote inside our section; nothing was touched.
    EDITED = "edited"
    #: The file is not one that may be written; nothing was touched.
    REFUSED = "refused"
    #: Not to be written: a dry run, or the text alone.
    SHOWN = "shown"


class Edits(StrEnum):
    """What becomes of what a human wrote inside our section."""

    #: It moves out, above the section, and is the human's from then on.
    KEEP = "keep"
    #: Ours takes its place; what stood there can be brought back.
    DISCARD = "discard"


@dataclass(frozen=True, slots=True)
class ResolutionWish:
    """What is to be resolved.

    Attributes:
        path: a file, or a project's root: then each of its files, or that of the agent.
        agent: for whom; None for every agent whose file is there.
        dry_run: nothing is written, and what would be is returned.
        create: a file that is not there may be made.
        adopt: a section of ours without its marks may be replaced.
        edits: what becomes of a human's edit inside our section; None refuses to write.
        metadata: each bullet shows confidence and rank.
        text_only: the section is wanted and no file is looked for.
        refresh: only a section that is in the file is written; none is added.

    """

    path: str
    agent: str | None = None
    dry_run: bool = False
    create: bool = False
    adopt: bool = False
    edits: Edits | None = None
    metadata: bool = False
    text_only: bool = False
    refresh: bool = False


@dataclass(frozen=True, slots=True)
class GivenBullet:
    """One bullet of a section: a principle as it is written there."""

    principle_id: str
    text: str
    #: What the file says against it, "" when nothing does.
    conflict: str = ""
    #: Whether it may be written there without asking a person: approved, or the project's own.
    is_approved: bool = True


@dataclass(frozen=True, slots=True)
class Resolved:
    """What came of one file.

    Attributes:
        path: the file, "" for text that belongs in none.
        reason: why it was refused; None when all is well.
        refusal: one word for that, for programs; None when nothing was refused.
        diff: what changed in the file, or would; of an edited one what a human changed there.
        section: what is between the marks now, or would be; with its line ends as LF.
        counts: what was looked at and left out, as the audit has it.
        already_said: what is left out because the file says it: text and why.

    """

    path: str
    agent: str
    ending: Ending
    reason: str | None = None
    refusal: str | None = None
    diff: str = ""
    section: str = ""
    bullets: tuple[GivenBullet, ...] = ()
    tokens: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    already_said: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Unwritten:
    """A file that cannot be written now, and why, as a person reads it."""

    path: str
    agent: str
    reason: str


@dataclass(frozen=True, slots=True)
class ResolutionReport:
    """What came of several wishes."""

    files: tuple[Resolved, ...] = ()
    left: tuple[Unwritten, ...] = ()
