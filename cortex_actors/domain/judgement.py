"""What two statements are to each other, and who says so.

A judgement is symmetric: it is the same whichever of the two was read first. It travels from the
rules, an entailment model, a language model or a person into the ledger, which keeps who decided
and why.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Relation(StrEnum):
    """What two statements are to each other; exactly one holds."""

    #: Nobody can follow both.
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

    """

    relation: Relation
    decider: Decider
    reason: str
    conflict: Conflict | None = None
    confidence: float = 1.0

    @property
    def contradicts(self) -> bool:
        """Whether the two cannot both be followed."""
        return self.relation is Relation.CONTRADICTION
