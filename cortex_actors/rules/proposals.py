"""What is worth asking about two statements: near duplicates and possible contradictions. Pure.

A small score orders pairs and proposes them. It decides nothing: what is proposed has no effect
until a person or a model has answered.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cortex_actors.domain.insight import Claim
    from cortex_actors.text.lexicon import Lexicon


class ProposalKind(StrEnum):
    """What two statements may be to each other."""

    DUPLICATE = "duplicate"
    CONTRADICTION = "contradiction"


@dataclass(frozen=True, slots=True)
class Proposal:
    """One question about two statements.

    Attributes:
        score: how likely it is so, 0 to 1; it orders proposals of one kind.
        reason: what of both texts speaks for it, the weightiest first.

    """

    kind: ProposalKind
    score: float
    reason: str


def propose(
    left: Claim,
    right: Claim,
    *,
    cosine: float,
    lexicon: Lexicon | None = None,  # noqa: ARG001 - the score below will read both statements
) -> Proposal | None:
    """Return what two statements may be to each other, or None; their order does not matter."""
    if left.text == right.text or cosine < NEAR:
        return None
    return Proposal(ProposalKind.DUPLICATE, cosine, f"cosine {cosine:.2f}")


#: Cosine from which two statements are proposed until the score is trained.
NEAR = 0.85
