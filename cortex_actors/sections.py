"""The sections of the settings: every number a user may turn, with what it means and its bounds.

docs/configuration.md is made from these comments; a test holds it to this module.

The sections of the settings about the way down: distilling principles, bringing them into files.

docs/configuration.md is made from these comments; a test holds it to this module.

The section of the settings about memories: how they are kept, merged, found, and how they fade.

docs/configuration.md is made from these comments; a test holds it to this module.

The sections of the settings that say which models there are, and how they are asked.

docs/configuration.md is made from these comments; a test holds it to this module.

The sections of the settings about other stores: the fan over them, our own door, and TLS.

docs/configuration.md is made from these comments; a test holds it to this module.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import astuple, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from cortex_actors.domain.memory import Layer
from cortex_actors.rules import addresses
from cortex_actors.rules.decay import Decay, Earning, Fading
from cortex_actors.rules.linking import LinkThresholds
from cortex_actors.rules.merging import MergeGates
from cortex_actors.rules.promotion import RankWeights
from cortex_actors.text.hazards import normalise_token_keys

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

#: Seconds a consumer ever rests; a rest that lies further ahead means the wall clock jumped back.
LONGEST_REST = 300.0

Pause = Annotated[float, Field(ge=0, le=LONGEST_REST)]


class SettingsSection(BaseModel):
    """One `[section]` of the file: frozen, and strict about its keys."""

    # An error that showed what was given would show tokens.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    def _parts(self, kind: type[DataclassInstance], prefix: str = "") -> dict[str, Any]:
        """Return the settings called as a rule's fields are, behind a prefix, by field."""
        return {each.name: getattr(self, prefix + each.name) for each in fields(kind)}


class AccumulationSettings(SettingsSection):
    """How instruction files become insights."""

    #: What an insight is: one statement (a list item, a paragraph, a table row, a command) or a
    #: whole section. Another one reads every file again.
    granularity: Literal["statement", "section"] = "statement"
    #: Cosine from which on a new text counts for an insight that says the same in the same words.
    merge: float = Field(0.92, ge=0, le=1)
    #: Bytes an instruction file may have (Cerno's limit, and the parsers': 1 MiB).
    max_file_bytes: int = Field(1_048_576, gt=0, le=1_048_576)


class DomainThresholds(SettingsSection):
    """Thresholds of one domain; what is left out is as it is for all."""

    #: Cosine from which on a statement of the domain represents one that says less of the same.
    cluster: float | None = Field(None, ge=0, le=1)
    #: Cosine from which on the rules may find that they are one, or disagree.
    judged: float | None = Field(None, ge=0, le=1)


class ReconciliationSettings(SettingsSection):
    """What is compared with what, and when an insight has earned becoming a principle (Cerno's)."""

    #: Cosine from which on a statement represents another one of its project that says less of the
    #: same; two that say the same need only `judged`.
    cluster: float = Field(0.88, ge=0, le=1)
    #: Cosine from which on any two statements are compared: they may be one, or disagree. Below it
    #: only those are that speak of one thing.
    judged: float = Field(0.5, ge=0, le=1)
    #: Cosine from which on the model takes two texts to be about one thing.
    floor: float = Field(0.3, ge=0, le=1)
    #: Least confidence, 0 to 1.
    promotion_confidence: float = Field(0.7, ge=0, le=1)
    #: Least number of observations: days on which a project was seen to say it, of all projects.
    promotion_observations: int = Field(3, ge=1)
    #: Least age, days.
    promotion_age_days: float = Field(7, ge=0)
    #: Least number of independent projects for promotion without a person.
    promotion_projects: int = Field(2, ge=1)
    #: Thresholds of single domains, each a table such as `[reconciliation.domains.python]` with
    #: `cluster` and `judged`; `cortex contradictions calibrate` suggests them.
    domains: Mapping[str, DomainThresholds] = Field({})


class WatchingSettings(SettingsSection):
    """How changes to files are noticed."""

    #: Seconds between two looks at every file; events are only hints.
    sweep_s: float = Field(5.0, gt=0)
    #: Milliseconds in which an editor's several writes of one save are one change.
    debounce_ms: int = Field(50, ge=0)
    #: Folders below a project's root that are searched for instruction files.
    max_depth: int = Field(8, ge=0)
    #: `auto` hears the kernel's events, but on network mounts, where they are silent; `poll` hears
    #: none: every project is swept and no more.
    mode: Literal["auto", "poll"] = "auto"


class StorageSettings(SettingsSection):
    """Where and how things are kept."""

    #: Units of work that may share one fsync.
    group_units: int = Field(64, ge=1)
    #: Milliseconds a unit waits for others to share its fsync.
    group_ms: float = Field(5.0, ge=0)
    #: Seconds to wait for the ledger while another process holds it locked.
    busy_timeout_s: float = Field(5.0, gt=0)
    #: Megabytes that are kept free on the ledger's disk for finishing work that has begun; below it
    #: new work is refused. 0 uses the disk up.
    low_water_mb: int = Field(50, ge=0)
    #: Rows the indexer hands to the vector index at once.
    index_batch: int = Field(500, ge=1, le=5_000)
    #: Seconds the vector index may take to answer, at most 100: the watchdog allows it 120.
    index_timeout_s: float = Field(30.0, gt=0, le=100)
    #: Where the vector index is: `embedded` in a process of the daemon's, or a Chroma `server`.
    index: Literal["embedded", "server"] = "embedded"
    #: server: its address, such as `http://localhost:8000`.
    index_url: str = Field("", pattern=r"^(https?://\S+)?$")
    #: server: whether the operating system's certificates count; `tls.trust_system_store` has it so
    #: for every connection.
    trust_system_store: bool = False
    #: Changes gathered before the index gets them; the ledger answers for them meanwhile.
    index_items: int = Field(20, ge=1, le=5_000)
    #: Milliseconds a change waits for others at most, before the index gets it.
    index_ms: int = Field(500, ge=0, le=60_000)
    #: Seconds between two checks of the index against the ledger.
    verify_every_s: float = Field(600, gt=0)
    #: Megabytes of vectors kept in memory for exact searches; beyond, rows are read each time.
    matrix_mb: int = Field(1_024, ge=0)

    @field_validator("index_url")
    @classmethod
    def _usable(cls, url: str, info: ValidationInfo) -> str:
        """Refuse an address that could never be used, while a server is wanted."""
        if url and info.data.get("index") == "server" and (why := addresses.explain_problem(url)):
            raise ValueError(why)
        return url

    @model_validator(mode="after")
    def _server(self) -> Self:
        """Refuse a server without an address."""
        if self.index == "server" and not self.index_url:
            raise ValueError('index = "server" needs index_url, such as http://localhost:8000')
        return self


class EventsSettings(SettingsSection):
    """How durable events are handed out."""

    #: Attempts before an event is set aside as a dead letter.
    max_deliveries: int = Field(5, ge=1)
    #: Seconds a consumer rests after its first, second ... crash on an event; the rest is longer
    #: than the supervisor's window, so one poison event can never bring a branch down.
    pauses_s: tuple[Pause, ...] = Field((1.0, 5.0, 30.0, 120.0), min_length=1)
    #: Days for which handled events and finished runs are kept; what waits and dead letters stay.
    keep_days: float = Field(30, gt=0)


class ScheduleSettings(SettingsSection):
    """What is done by the clock, and how many backups are kept."""

    #: Seconds between two times that every instruction file is read again, whatever was noticed.
    scan_every_s: float = Field(86_400, gt=0)
    #: Seconds between two times that all insights are compared and weighed again.
    reconcile_every_s: float = Field(86_400, gt=0)
    #: Seconds between two times that principles are distilled, whatever was reconciled.
    organise_every_s: float = Field(86_400, gt=0)
    #: Seconds between two times that principles which no project states any more lose rank.
    decay_every_s: float = Field(86_400, gt=0)
    #: Seconds between two digests: what was learned since the last one.
    digest_every_s: float = Field(86_400, gt=0)
    #: Seconds between two times that the attention of memories is computed again.
    attention_every_s: float = Field(21_600, gt=0)
    #: Seconds between two times that memories are promoted which have become old enough for it.
    promotions_every_s: float = Field(3_600, gt=0)
    #: Seconds between two times that memories are archived which faded long ago
    #: (memory.archive_days).
    archive_every_s: float = Field(86_400, gt=0)
    #: Seconds by which each of those eight comes later, up to so many, by chance: they do not all
    #: fall into the same second, on one machine or on many. At most a tenth of the interval.
    jitter_s: float = Field(600, ge=0)
    #: Seconds from one backup of the ledger to the next; an unchanged one is not copied again.
    #: What was acknowledged since the last is at risk when the file is lost: these, and the time
    #: that two copies take. With 60 s for that it is at most 5 minutes.
    backup_every_s: float = Field(240, gt=0)
    #: Seconds between two times that what was handled long ago is deleted (events.keep_days).
    prune_every_s: float = Field(3_600, gt=0)
    #: Seconds between two checks of the whole ledger.
    check_every_s: float = Field(86_400, gt=0)
    #: Seconds between two trials of the daemon, in which it remembers, recalls and forgets a probe;
    #: the first comes half a minute after a start. While nothing is written there is one a day.
    probe_every_s: float = Field(900, gt=0)
    #: Hours of which the newest backup is kept, counting those that have one.
    keep_hourly: int = Field(24, ge=1)
    #: Days of which the newest backup is kept, counting those that have one.
    keep_daily: int = Field(7, ge=0)


#: Bytes of an instruction file's heading: it is one line of Markdown.
_TITLE = r"^\S(.{0,118}\S)?$"


class OrganisationSettings(SettingsSection):
    """How principles are ranked, linked and faded (Cerno's numbers)."""

    #: Cosine from which on a candidate only adds to a principle that is there, unless the two
    #: disagree.
    dedup: float = Field(0.92, ge=0, le=1)
    #: Weight of a principle's confidence in its rank; only the proportion of the five counts.
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
    #: Rank below which a principle is decaying, once no scan has seen it for `decaying_days`.
    decaying_rank: float = Field(0.15, ge=0, le=1)
    #: Days without an observation before a principle may be decaying.
    decaying_days: float = Field(90, ge=0)
    #: Rank below which a principle is pruned, once no scan has seen it for `pruned_days` and
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
        if not any(astuple(self.weights)):
            raise ValueError("a rank needs at least one weight above 0")
        if self.pruned_rank > self.decaying_rank or self.pruned_days < self.decaying_days:
            raise ValueError("what is pruned was decaying: pruned_rank and pruned_days go further")
        if not self.link_related <= self.link_close <= self.link_reinforces:
            raise ValueError("link_related, link_close and link_reinforces do not fall")
        return self

    @property
    def weights(self) -> RankWeights:
        """What each part of a rank counts."""
        return RankWeights(**self._parts(RankWeights, "rank_"))

    @property
    def fading(self) -> Fading:
        """When a principle fades."""
        return Fading(**self._parts(Fading))

    @property
    def linking(self) -> LinkThresholds:
        """From where on a likeness is a link."""
        return LinkThresholds(**self._parts(LinkThresholds, "link_"))


class ResolutionSettings(SettingsSection):
    """Which principles a file gets, and how it is written (Cerno's numbers)."""

    #: Weight of how near a principle is to the file; only the proportion of the three counts.
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
    #: Seconds to wait for a file that is being saved.
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


class MemorySettings(SettingsSection):
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
    #: Agent of those who remember without naming one.
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
    #: Seconds after which memories that were saved without a vector, and posts that were not
    #: compared, are looked at again.
    merge_again_s: float = Field(30.0, gt=0, le=86_400)
    #: Seconds that remembering waits for a model that is still loading before it saves the text to
    #: be compared later, at most 60.
    patience_s: float = Field(3.0, ge=0, le=60)
    #: Hours after which an unread memory of the sensory layer has half its attention.
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
    #: other is for: village and bridges are looked through by it, unasked and where no call says
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
            raise ValueError('profile = "custom" needs at least one weight above 0')
        return self

    @property
    def gates(self) -> MergeGates:
        """What merging asks for."""
        return MergeGates(**self._parts(MergeGates))

    @property
    def decays(self) -> Mapping[Layer, Decay]:
        """How the memories of each layer fade."""
        fading = Layer.SENSORY, Layer.WORKING, Layer.LONG_TERM
        return {each: Decay(**self._parts(Decay, f"{each}_")) for each in fading}

    @property
    def earning(self) -> Earning:
        """What leads a memory from one layer to the next."""
        return Earning(**self._parts(Earning))


class EmbeddingSettings(SettingsSection):
    """How texts become vectors."""

    #: Where vectors come from in a home that has none yet: a model on this machine, any endpoint
    #: that speaks OpenAI's protocol, or `hashing`, which needs no model and is for tests. A home
    #: that has vectors goes on with their model (`cortex model migrate`).
    provider: Literal["sentence-transformers", "openai", "hashing"] = "sentence-transformers"
    #: A model's name, or the path of a folder that holds one; chosen when `provider` is.
    model: str = "all-MiniLM-L6-v2"
    #: Compile a sentence-transformers model once, in the background, and embed with that.
    compile: bool = True
    #: Threads that embed with a compiled model, in bulk and again for what a person waits for; 0:
    #: as many as there are cores.
    threads: int = Field(0, ge=0, le=256)
    #: Tokens of the texts that a compiled model is given at once.
    batch_tokens: int = Field(256, ge=16, le=65_536)
    #: openai: where the endpoint is, such as `http://localhost:11434/v1`; empty: OpenAI's own.
    base_url: str = Field("", pattern=r"^(https?://\S+)?$")
    #: openai: the endpoint's key; better kept in the variable CORTEX_EMBEDDING__API_KEY.
    api_key: SecretStr = SecretStr("")
    #: openai: whether the operating system's certificates count; `tls.trust_system_store` has it so
    #: for every connection.
    trust_system_store: bool = False
    #: openai: tokens of a text that the endpoint's model reads; 0: 512.
    max_tokens: int = Field(0, ge=0)
    #: openai: numbers in a vector that are expected; 0: the endpoint is asked.
    dimension: int = Field(0, ge=0)
    #: openai: times that a request is tried again, with a growing pause.
    retries: int = Field(3, ge=0, le=10)
    #: openai: failures in a row after which the endpoint is left alone for a while.
    breaker_failures: int = Field(5, ge=1)
    #: openai: seconds for which it is left alone then.
    breaker_pause_s: float = Field(30, gt=0, le=3_600)
    #: Texts gathered into one batch before it is embedded (Cerno: 20).
    batch_items: int = Field(20, ge=1)
    #: Milliseconds a text waits for others to join its batch (Cerno: 500).
    batch_ms: int = Field(500, ge=0)
    #: Vectors kept in memory, least recently used out first (Cerno: 10,000).
    cache_entries: int = Field(10_000, ge=1)
    #: Texts that may wait; more are refused, so that a flood slows its sender.
    queue_limit: int = Field(10_000, ge=1)
    #: Seconds one batch may take, at most 300: the watchdog crashes a pool that sits for 600.
    request_timeout_s: float = Field(60.0, gt=0, le=300)


class JudgingSettings(SettingsSection):
    """Who is asked about two statements where the rules leave it open, and who writes summaries.

    Without a `cross_encoder` and a `model`, the rules alone decide.
    """

    #: A CrossEncoder of sentence-transformers that tells contradiction, entailment and neutral: the
    #: path of its folder; empty: none.
    cross_encoder: str = ""
    #: What its outputs are, in order, where its own configuration does not name them.
    cross_encoder_labels: tuple[Literal["contradiction", "entailment", "neutral"], ...] = ()
    #: Least probability with which it decides, above a half; below, the next one is asked.
    cross_encoder_sure: float = Field(0.8, gt=0.5, le=1)
    #: Seconds after its last question for which it stays in memory.
    cross_encoder_idle_s: float = Field(300, gt=0)
    #: A language model as the endpoint calls it, such as `llama3.1:8b`; empty: none.
    model: str = ""
    #: Where the endpoint is, such as `http://localhost:11434/v1`; empty: OpenAI's own.
    base_url: str = Field("", pattern=r"^(https?://\S+)?$")
    #: The endpoint's key; better kept in the variable CORTEX_JUDGING__API_KEY.
    api_key: SecretStr = SecretStr("")
    #: Whether the operating system's certificates count; `tls.trust_system_store` has it so for
    #: every connection.
    trust_system_store: bool = False
    #: Questions to the language model in one run, at most; answers that are known cost nothing.
    budget: int = Field(50, ge=0)
    #: Questions that are with the language model at once.
    at_once: int = Field(2, ge=1, le=16)
    #: Bytes of what one question quotes, at most; longer ones are not asked.
    longest: int = Field(16_384, ge=256, le=1_048_576)
    #: Tokens an answer may have, at most; a model that thinks aloud needs more.
    answer_tokens: int = Field(1_024, ge=64)
    #: Seconds a run waits for answers, at most 100; what comes later is kept for the next time.
    patience_s: float = Field(60, gt=0, le=100)
    #: Seconds one request may take.
    request_timeout_s: float = Field(60, gt=0, le=300)
    #: Times that a request is tried again, with a growing pause.
    retries: int = Field(2, ge=0, le=10)
    #: Failures in a row after which a model is left alone for a while.
    breaker_failures: int = Field(3, ge=1)
    #: Seconds for which it is left alone then.
    breaker_pause_s: float = Field(60, gt=0, le=3_600)
    #: Verdicts of agents on one day (UTC), at most; 0: none is asked. The default is 20 sessions of
    #: three pairs: as many as a person can still look through.
    agent_verdicts: int = Field(60, ge=0)
    #: Characters of texts that one hand-out of pairs has, at most: some 2,000 tokens.
    agent_characters: int = Field(8_000, ge=500, le=100_000)


#: What a store may be called: answers, commands and a keyring name it.
STORE_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"

#: Names that no other store may have: what is kept here, whatever its collection.
_RESERVED = re.compile(r"local|cortex_\w+")

#: Most seconds that a store may be given: the watchdog allows a question 120 in all.
LONGEST_ASK = 30.0


class StoreSettings(SettingsSection):
    """One `[[federation.stores]]`: a store that is asked beside what is known here."""

    #: What answers call it: 1 to 64 letters, digits and `_ . -`.
    name: str = Field(pattern=f"^{STORE_NAME}$")
    #: Who speaks to it: `seren_memory`, `seren_loci`, `cortex`, `chroma`, `pgvector` or `mcp`.
    type: str = Field(min_length=1)
    #: Its address.
    url: str = ""
    #: How much its places count.
    weight: float = Field(1.0, ge=0, le=1_000)
    #: Base relevance below which its hits do not count; 0 lets all of them, 0.3 is for noisy ones.
    floor: float = Field(0.0, ge=0, le=1)
    #: Whether it is asked.
    enabled: bool = True
    #: Its token, in clear text; better is one of the next two. `bearer_token` is read as well.
    token: str = Field("", repr=False)
    #: `service/user` of its token in the keyring of the operating system.
    token_keyring: str = ""
    #: Variable of the daemon's environment with its token.
    token_env: str = ""
    #: What only its type understands (docs/stores.md); a key that is not listed here is put
    #: there.
    options: Mapping[str, Any] = Field({})

    @model_validator(mode="before")
    @classmethod
    def _gathered(cls, given: Any) -> Any:  # noqa: ANN401 - whatever a file holds
        """Put what only an adapter understands under `options`, as Callosum's files have it."""
        if not isinstance(given, Mapping) or not isinstance(given.get("options", {}), Mapping):
            return given
        said = normalise_token_keys({str(key): value for key, value in given.items()})
        extra = {key: value for key, value in said.items() if key not in cls.model_fields}
        kept = {key: value for key, value in said.items() if key in cls.model_fields}
        return {**kept, "options": {**extra, **given.get("options", {})}}

    @field_validator("name")
    @classmethod
    def _free(cls, name: str) -> str:
        """Refuse the name of what is kept here."""
        if _RESERVED.fullmatch(name):
            raise ValueError(f"{name} is the name of what is kept here; choose another one")
        return name

    @field_validator("url")
    @classmethod
    def _bare(cls, url: str) -> str:
        """Take blanks and slashes from its ends."""
        return url.strip().rstrip("/")


class FederationSettings(SettingsSection):
    """How one question goes to every store."""

    #: Reciprocal rank fusion's constant (Cormack and others 2009: 60).
    k: float = Field(60, ge=1, le=1_000_000)
    #: Hits of an answer, where the caller names no number.
    n_results: int = Field(10, ge=1, le=200)
    #: How many times as many hits each store is asked for.
    fetch_multiplier: int = Field(2, ge=1, le=20)
    #: Seconds a store may take before the answer goes out without it, at most 30.
    per_store_timeout_s: float = Field(5.0, gt=0, le=LONGEST_ASK)
    #: What a place counts: `rrf` (1 / (k + rank)), `percentile` (by the share of its own list that
    #: comes after it) or `rrf_pct` (rrf, and where that is equal by percentile).
    fusion_mode: Literal["rrf", "percentile", "rrf_pct"] = "rrf"
    #: Lead in base relevance from which the first hit of a store is before others of the same
    #: score; 0 leaves the order as it is.
    authority_margin: float = Field(0.035, ge=0, le=1)
    #: Hits that each store which answered has in the answer, as far as there is room.
    min_per_store: int = Field(1, ge=0, le=200)
    #: Most of an answer that may come from one remote store, 0 to 1; 1 is no limit.
    max_store_share: float = Field(1.0, gt=0, le=1)
    #: Whether what is filed under the topics of the hits is shown beside them.
    edges_enabled: bool = True
    #: How many of those there may be.
    edge_budget: int = Field(3, ge=0, le=100)
    #: How many hits may be shown that a store itself has put around one.
    satellite_budget: int = Field(3, ge=0, le=100)
    #: Times that the stores are asked: beyond 1 again, with what the first hits say.
    hops: int = Field(1, ge=1, le=4)
    #: First hits whose text is asked with.
    hop_terms: int = Field(4, ge=1, le=20)
    #: How many hits may be shown that were found that way.
    hop_budget: int = Field(5, ge=0, le=100)
    #: What is known here as one list that one search has ranked (`together`), or each collection as
    #: a store of its own (`separate`, the document's form).
    local: Literal["together", "separate"] = "together"
    #: Seconds a question waits for a model that is still loading before it is answered by its words
    #: alone, at most 60: the watchdog allows a question 120 in all.
    patience_s: float = Field(3.0, ge=0, le=60)
    #: Megabytes that a remote store's answer may have.
    response_mb: float = Field(4.0, gt=0, le=64)
    #: Questions that one remote store is asked at once; others wait their turn.
    at_once: int = Field(4, ge=1, le=100)
    #: Failures in a row after which a remote store is left alone for a while.
    breaker_failures: int = Field(5, ge=1, le=1_000)
    #: Seconds for which it is.
    breaker_pause_s: float = Field(30.0, gt=0, le=3_600)
    #: Hosts (`host` or `host:port`) that stores may be on; empty allows every address that is not
    #: forbidden anyway (docs/stores.md).
    allow_hosts: tuple[str, ...] = ()
    #: The stores, each a table `[[federation.stores]]`.
    stores: tuple[StoreSettings, ...] = ()

    @model_validator(mode="after")
    def _told_apart(self) -> Self:
        """Refuse two stores of one name."""
        names = [each.name for each in self.stores]
        if twice := sorted({each for each in names if names.count(each) > 1}):
            raise ValueError(f"two stores are called {twice[0]}; give each a name of its own")
        return self


class HttpSettings(SettingsSection):
    """The door for other programs, on this machine."""

    #: Whether it is open.
    enabled: bool = False
    #: Address it is bound to, which no other machine reaches: `127.0.0.1`, `::1` or
    #: `localhost`.
    host: str = "127.0.0.1"
    #: Its port; 0 takes one that is free.
    port: int = Field(7424, ge=0, le=65_535)
    #: Bytes that a request may have.
    max_body_bytes: int = Field(2_097_152, gt=0, le=67_108_864)
    #: Connections at once.
    max_connections: int = Field(128, ge=1, le=10_000)

    @field_validator("host")
    @classmethod
    def _at_home(cls, host: str) -> str:
        """Refuse an address that others reach: what is answered there goes over their network."""
        if not addresses.is_here(host):
            raise ValueError(
                f"{host} may be reached from other machines, and the door answers this one alone; "
                "give 127.0.0.1, and forward the port where another machine is to be let in"
            )
        return host


class McpSettings(SettingsSection):
    """What AI agents are offered over MCP, and who they are."""

    #: The agent that a session is where it names none; empty for `memory.agent`.
    agent: str = Field("", pattern=r"^[A-Z0-9_-]{0,64}$")
    #: The tools that a session lists: `core`, `all`, or names with commas between them.
    tools: str = "core"


class HooksSettings(SettingsSection):
    """What the hooks of agents' clients give a session to read, and what they leave behind."""

    #: Whether hooks do anything.
    enabled: bool = True
    #: Agent as which they act where the command does not say; empty for that of [memory].
    agent: str = Field("", pattern=r"^[A-Z0-9_-]{0,64}$")
    #: Tokens of a brief at most, also where `cortex brief` does not say: 1,000 are half a percent
    #: of a context of 200,000, and hold some twenty notes.
    start_budget_tokens: int = Field(1_000, ge=1, le=100_000)
    #: Tokens of what is recalled for a prompt at most: it is paid for with each prompt.
    prompt_budget_tokens: int = Field(300, ge=1, le=100_000)
    #: Whether the end of a session's transcript may be read, for a crumb, before it is compacted
    #: and when it ends. Without it only what the client hands over itself is kept.
    transcript: bool = False
    #: Folders in and below which hooks do nothing: absolute paths.
    off: tuple[Annotated[str, Field(pattern="^/")], ...] = ()


class TlsSettings(SettingsSection):
    """How the certificates of other machines are checked."""

    #: Whether the operating system's certificates count, instead of those that Python brings:
    #: for companies whose proxies open every connection.
    trust_system_store: bool = False
