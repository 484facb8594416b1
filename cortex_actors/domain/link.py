"""How two principles stand to each other, and who says so."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cortex_actors.domain.judgement import Decider


class LinkType(StrEnum):
    """What the source of a link does to its target; exactly one holds between two principles."""

    #: Both ask for the same: each makes the other more credible.
    REINFORCES = "reinforces"
    #: The source says for more what the target says for less.
    GENERALIZES = "generalizes"
    #: The source says for less what the target says for more.
    SPECIALIZES = "specializes"
    #: Nobody can follow both.
    CONTRADICTS = "contradicts"
    #: What the source asks for needs what the target asks for first.
    DEPENDS_ON = "depends_on"
    #: They are about one thing.
    RELATED = "related"


#: What a link is when it is told from its other end; every other one reads the same from both.
_OPPOSITE = {
    LinkType.GENERALIZES: LinkType.SPECIALIZES,
    LinkType.SPECIALIZES: LinkType.GENERALIZES,
}


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

    def other(self, principle_id: str) -> str:
        """Return the end that is not this one."""
        return self.target_id if self.source_id == principle_id else self.source_id

    def kept(self) -> Link:
        """Return it as the ledger keeps it: once for each pair, from the lesser id.

        Only what depends on another keeps its order, because nothing says the opposite of it.
        """
        is_turned = self.source_id > self.target_id and self.type is not LinkType.DEPENDS_ON
        return self.turned() if is_turned else self

    def seen_from(self, principle_id: str) -> Link:
        """Return it told from one of its ends, as far as it can be told from there.

        What is depended on stays the target: then the link reads "is needed by".
        """
        is_there = self.source_id == principle_id or self.type is LinkType.DEPENDS_ON
        return self if is_there else self.turned()

    def turned(self) -> Link:
        """Return the same, told from the other end."""
        kind = _OPPOSITE.get(self.type, self.type)
        return replace(self, source_id=self.target_id, target_id=self.source_id, type=kind)
