"""The sections of the settings about the way down: distilling principles, bringing them into files.

docs/configuration.md is made from these comments; a test holds it to this module.
"""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from cortex_actors.rules.decay import Fading
from cortex_actors.rules.linking import Thresholds
from cortex_actors.rules.promotion import RankWeights
from cortex_actors.sections import Section

#: Bytes of an instruction file's heading: it is one line of Markdown.
_TITLE = r"^\S(.{0,118}\S)?$"


class OrganisationSettings(Section):
    """How principles are ranked, linked and faded (Cerno's numbers)."""

    #: Cosine from which on a candidate only adds to a principle that is there, unless the two
    #: disagree.
    dedup: float = Field(0.92, ge=0, le=1)
    #: Weight of a principle's confidence in its rank; only how the five stand to each other counts.
    rank_confidence: float = Field(0.35, ge=0, le=1)
    #: Weight of how often it was observed.
    rank_frequency: float = Field(0.25, ge=0, le=1)
    #: Weight of how lately it was observed.
    rank_recency: float = Field(0.20, ge=0, le=1)
    #: Weight of how good its sources are.
    rank_quality: float = Field(0.15, ge=0, le=1)
    #: Weight of how many other principles it is linked with.
    rank_links: float = Field(0.05, ge=0, le=1)
    #: Days after which what was observed once counts half; what is observed often fades slower.
    half_life_days: float = Field(90, gt=0)
    #: Rank below which a principle is decaying, once nobody has observed it for `decaying_days`.
    decaying_rank: float = Field(0.15, ge=0, le=1)
    #: Days without an observation before a principle may be decaying.
    decaying_days: float = Field(90, ge=0)
    #: Rank below which a principle is pruned, once nobody has observed it for `pruned_days` and
    #: seven runs of decay in a row have found that.
    pruned_rank: float = Field(0.10, ge=0, le=1)
    #: Days without an observation before a principle may be pruned.
    pruned_days: float = Field(180, ge=0)
    #: Cosine from which on two principles of one domain, or with one tag, are linked.
    link_related: float = Field(0.5, ge=0, le=1)
    #: Cosine from which on two principles are linked whatever they share.
    link_close: float = Field(0.7, ge=0, le=1)
    #: Cosine from which on two principles reinforce each other.
    link_reinforces: float = Field(0.85, ge=0, le=1)
    #: Nearest principles that each is linked with at most, beside those that it contradicts, needs
    #: or is needed by.
    link_neighbours: int = Field(20, ge=1, le=1_000)

    @model_validator(mode="after")
    def _weighed(self) -> Self:
        """Refuse a rank of nothing at all, and steps of which the second comes before the first."""
        parts = ("confidence", "frequency", "recency", "quality", "links")
        if not any(getattr(self, f"rank_{each}") for each in parts):
            message = "a rank needs at least one weight above 0"
            raise ValueError(message)
        if self.pruned_rank > self.decaying_rank or self.pruned_days < self.decaying_days:
            message = "what is pruned was decaying: pruned_rank and pruned_days go further"
            raise ValueError(message)
        if not self.link_related <= self.link_close <= self.link_reinforces:
            message = "link_related, link_close and link_reinforces do not fall"
            raise ValueError(message)
        return self

    @property
    def weights(self) -> RankWeights:
        """What each part of a rank counts."""
        return RankWeights(
            self.rank_confidence,
            self.rank_frequency,
            self.rank_recency,
            self.rank_quality,
            self.rank_links,
        )

    @property
    def fading(self) -> Fading:
        """When a principle fades."""
        return Fading(
            self.half_life_days,
            self.decaying_rank,
            self.decaying_days,
            self.pruned_rank,
            self.pruned_days,
        )

    @property
    def linking(self) -> Thresholds:
        """From where on a likeness is a link."""
        return Thresholds(
            self.link_related, self.link_close, self.link_reinforces, self.link_neighbours
        )


class ResolutionSettings(Section):
    """Which principles a file gets, and how it is written (Cerno's numbers)."""

    #: Weight of how near a principle is to the file; only how the three stand to each other counts.
    semantic: float = Field(0.5, ge=0, le=1)
    #: Weight of a principle's rank.
    rank: float = Field(0.3, ge=0, le=1)
    #: Weight of the share of its domains that are the file's.
    domain: float = Field(0.2, ge=0, le=1)
    #: Least score, 0 to 1, with which a principle is brought into a file.
    least: float = Field(0.3, ge=0, le=1)
    #: Principles that one file gets at most.
    most: int = Field(20, ge=1, le=200)
    #: Principles nearest to the file that are looked at.
    nearest: int = Field(100, ge=1, le=10_000)
    #: Cosine from which on a file's section says already what a principle says.
    already_said: float = Field(0.85, ge=0, le=1)
    #: Tokens that our section may have; the least ranked principles are left out beyond.
    max_output_tokens: int = Field(4_000, ge=100, le=100_000)
    #: The section's heading.
    title: str = Field("Resolved Knowledge from Cortex", pattern=_TITLE)
    #: Write principles that no person has approved, too, without asking.
    unapproved: bool = False
    #: Write confidence and rank beside each bullet.
    include_metadata: bool = False
    #: Milliseconds for which a file must stay as it is before it is written.
    settle_ms: int = Field(100, ge=0, le=10_000)
    #: Seconds that a file which somebody is saving is waited for.
    settle_limit_s: float = Field(2, ge=0, le=60)
    #: Seconds after a write in which an editor that had the file open may still write to it, and is
    #: heard.
    grace_s: float = Field(2, ge=0, le=60)
    #: Days for which what a file held before a write is kept, for `cortex resolve --undo`.
    journal_days: float = Field(30, ge=0)

    @model_validator(mode="after")
    def _weighed(self) -> Self:
        """Refuse a score of nothing at all, and one that no vectorless text could have."""
        if not (self.rank or self.domain):
            message = "a score needs rank or domain above 0: without a model they are all there is"
            raise ValueError(message)
        return self
