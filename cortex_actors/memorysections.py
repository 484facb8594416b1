"""The section of the settings about memories: how they are kept, merged, found, and how they fade.

docs/configuration.md is made from these comments; a test holds it to this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, model_validator

from cortex_actors.domain.memory import Layer
from cortex_actors.rules.decay import Decay, Earning
from cortex_actors.rules.merging import Gates
from cortex_actors.sections import Section

if TYPE_CHECKING:
    from collections.abc import Mapping


class MemorySettings(Section):
    """How a search ranks what it finds; a weight of 0 leaves its list out."""

    #: Which ranking: `measured` (what finds most on conversations and abstracts alike), `document`
    #: (the document's: two lists, k = 60, equal weights) or `custom` (the keys below).
    profile: Literal["measured", "document", "custom"] = "measured"
    #: custom: reciprocal rank fusion's constant (Cormack and others 2009: 60).
    rrf_k: int = Field(5, ge=1)
    #: custom: weight of the list by meaning, of each text alone.
    weight_dense_alone: float = Field(1.0, ge=0, le=1_000)
    #: custom: weight of the list by words, of each text alone.
    weight_words_alone: float = Field(1.0, ge=0, le=1_000)
    #: custom: weight of the list by meaning, of each text with its predecessor.
    weight_dense_paired: float = Field(1.0, ge=0, le=1_000)
    #: custom: weight of the list by words, of each text with its predecessor.
    weight_words_paired: float = Field(2.0, ge=0, le=1_000)
    #: Words that a long question is searched by: its rarest.
    words_most: int = Field(16, ge=1, le=100)
    #: Agent that somebody remembers as who names none.
    agent: str = Field("CLAUDE", pattern=r"[A-Z0-9_-]{1,64}")
    #: Cosine from which two memories become one without a judge, unless they contradict each other
    #: or differ in a value.
    merge_always: float = Field(0.9, ge=0, le=1)
    #: Cosine below which they never do.
    merge_never: float = Field(0.2, ge=0, le=1)
    #: Least cosine of a merged text with everything that it was made of.
    min_faithfulness: float = Field(0.7, ge=0, le=1)
    #: Most that the mean cosine of a merged text with the nearest other memories may be: calibrated
    #: for all-MiniLM-L6-v2 (docs/decisions/0019-merging-memories.md); 1 lets every text pass.
    max_neighbor_score: float = Field(0.8, ge=0, le=1)
    #: How many of these count.
    neighbor_k: int = Field(3, ge=1, le=100)
    #: Nearest memories that are looked at in a round of merging.
    top_k: int = Field(5, ge=1, le=100)
    #: Merges of one remembering at most; with 0 nothing is merged, and what contradicts is found.
    max_rounds: int = Field(10, ge=0, le=100)
    #: Whose words count in a merge: those said last (`a`), those of before (`b`), or neither's.
    prefer: Literal["a", "b", "equal"] = "equal"
    #: Cosine from which memories that are said at the same moment wait for each other, so that what
    #: says the same becomes one.
    merge_together: float = Field(0.5, ge=-1, le=1)
    #: Seconds after which memories that were saved without a vector are looked at again.
    merge_again_s: float = Field(30.0, gt=0, le=86_400)
    #: Seconds that remembering waits for a model that is still loading before it saves the text to
    #: be compared later, at most 60.
    patience_s: float = Field(3.0, ge=0, le=60)
    #: Hours after which a memory of the sensory layer that nobody read has half its attention.
    sensory_half_life_h: float = Field(6.0, gt=0, le=1_000_000)
    #: Attention that a sensory memory keeps for ever.
    sensory_floor: float = Field(0.1, ge=0, le=1)
    #: Accesses from which on a sensory memory becomes a working one.
    sensory_accesses: int = Field(2, ge=1)
    #: As `sensory_half_life_h`, of the working layer.
    working_half_life_h: float = Field(72.0, gt=0, le=1_000_000)
    #: As `sensory_floor`, of the working layer.
    working_floor: float = Field(0.2, ge=0, le=1)
    #: Accesses from which on a working memory that is old enough becomes a long-term one.
    working_accesses: int = Field(5, ge=1)
    #: Hours since it was said after which a working memory is old enough for that.
    working_age_h: float = Field(24.0, ge=0, le=1_000_000)
    #: As `sensory_half_life_h`, of the long-term layer; what lies in the cortex does not fade.
    long_term_half_life_h: float = Field(720.0, gt=0, le=1_000_000)
    #: As `sensory_floor`, of the long-term layer.
    long_term_floor: float = Field(0.3, ge=0, le=1)
    #: Cosine from which on a memory in an answer counts as read; one that shares words with the
    #: question always does.
    relevance: float = Field(0.3, ge=-1, le=1)
    #: Seconds for which accesses are gathered before they are written; a crash loses at most those.
    flush_s: float = Field(5.0, gt=0, le=3_600)
    #: Memories whose accesses are gathered at most before they are written.
    flush_items: int = Field(500, ge=1, le=5_000)
    #: Names of folders that are passed over when documents are read; hidden ones always are.
    knowledge_skips: tuple[str, ...] = ("__pycache__", "node_modules", "service", "web")
    #: Days after which a memory that has faded as far as it can is archived; 0 archives none.
    archive_days: float = Field(0, ge=0)
    #: Cosine from which on two posts of different agents say alike, unless one is against what the
    #: other is for: village and bridges are looked through by it, unasked and where nobody says
    #: otherwise.
    convergence: float = Field(0.7, ge=0.5, le=1)

    @model_validator(mode="after")
    def _tiered(self) -> Self:
        """Refuse tiers that overlap."""
        if self.merge_never > self.merge_always:
            message = "merge_never is above merge_always; between the two lies what is judged"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _weighed(self) -> Self:
        """Refuse a ranking of no list at all."""
        lists = ("dense_alone", "words_alone", "dense_paired", "words_paired")
        if self.profile == "custom" and not any(getattr(self, f"weight_{each}") for each in lists):
            message = 'profile = "custom" needs at least one weight above 0'
            raise ValueError(message)
        return self

    @property
    def gates(self) -> Gates:
        """What merging asks for."""
        return Gates(
            always=self.merge_always,
            never=self.merge_never,
            faithful=self.min_faithfulness,
            crowded=self.max_neighbor_score,
            neighbours=self.neighbor_k,
            nearest=self.top_k,
            rounds=self.max_rounds,
        )

    @property
    def decays(self) -> Mapping[Layer, Decay]:
        """How the memories of each layer fade."""
        return {
            Layer.SENSORY: Decay(self.sensory_half_life_h, self.sensory_floor),
            Layer.WORKING: Decay(self.working_half_life_h, self.working_floor),
            Layer.LONG_TERM: Decay(self.long_term_half_life_h, self.long_term_floor),
        }

    @property
    def earning(self) -> Earning:
        """What leads a memory from one layer to the next."""
        return Earning(self.sensory_accesses, self.working_accesses, self.working_age_h)
