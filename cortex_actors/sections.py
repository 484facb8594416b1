"""The sections of the settings: every number a user may turn, with what it means and its bounds.

docs/configuration.md is made from these comments; a test holds it to this module.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from cortex_actors.rules import addresses

#: Seconds a consumer ever rests; a rest that lies further ahead means the wall clock jumped back.
LONGEST_REST = 300.0

Pause = Annotated[float, Field(ge=0, le=LONGEST_REST)]


class Section(BaseModel):
    """One `[section]` of the file: frozen, and strict about its keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class AccumulationSettings(Section):
    """How instruction files become insights."""

    #: What an insight is: a whole H2 section. (Single statements are another change.)
    granularity: Literal["section"] = "section"
    #: Bytes an instruction file may have (Cerno's limit, and the parsers': 1 MiB).
    max_file_bytes: int = Field(1_048_576, gt=0, le=1_048_576)


class ReconciliationSettings(Section):
    """When an insight has earned becoming a principle (Cerno's defaults)."""

    #: Least confidence, 0 to 1.
    promotion_confidence: float = Field(0.7, ge=0, le=1)
    #: Least number of observations: revisions of files that say it.
    promotion_observations: int = Field(3, ge=1)
    #: Least age, days.
    promotion_age_days: float = Field(7, ge=0)
    #: Least number of independent projects for promotion without a person.
    promotion_projects: int = Field(2, ge=1)


class EmbeddingSettings(Section):
    """How texts become vectors."""

    #: Where vectors come from in a home that has none yet: a model on this machine, any endpoint
    #: that speaks OpenAI's protocol, or `hashing`, which needs no model and is for tests. A home
    #: that has vectors goes on with their model (`cortex embeddings migrate`).
    provider: Literal["sentence-transformers", "openai", "hashing"] = "sentence-transformers"
    #: A model's name, or the path of a folder that holds one; chosen when `provider` is.
    model: str = "all-MiniLM-L6-v2"
    #: Compile a sentence-transformers model once, in the background, and embed with that.
    compile: bool = True
    #: Threads that embed with a compiled model; 0: as many as there are cores.
    threads: int = Field(0, ge=0, le=256)
    #: Tokens of the texts that a compiled model is given at once.
    batch_tokens: int = Field(256, ge=16, le=65_536)
    #: openai: where the endpoint is, such as `http://localhost:11434/v1`; empty: OpenAI's own.
    base_url: str = Field("", pattern=r"^(https?://\S+)?$")
    #: openai: the endpoint's key; better kept in the variable CORTEX_EMBEDDING__API_KEY.
    api_key: SecretStr = SecretStr("")
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

    @model_validator(mode="after")
    def _weighed(self) -> Self:
        """Refuse a ranking of no list at all."""
        lists = ("dense_alone", "words_alone", "dense_paired", "words_paired")
        if self.profile == "custom" and not any(getattr(self, f"weight_{each}") for each in lists):
            message = 'profile = "custom" needs at least one weight above 0'
            raise ValueError(message)
        return self


class FederationSettings(Section):
    """How one question goes to every store."""

    #: Seconds a store may take before the answer goes out without it, at most 30.
    timeout_s: float = Field(5.0, gt=0, le=30)
    #: Reciprocal rank fusion's constant (Cormack and others 2009: 60).
    k: int = Field(60, ge=1)
    #: Seconds a question waits for a model that is still loading before it is answered by its words
    #: alone, at most 60: the watchdog allows a question 120 in all.
    patience_s: float = Field(3.0, ge=0, le=60)


class WatchingSettings(Section):
    """How changes to files are noticed."""

    #: Seconds between two looks at every file; events are only hints.
    sweep_s: float = Field(5.0, gt=0)
    #: Milliseconds in which an editor's several writes of one save are one change.
    debounce_ms: int = Field(50, ge=0)
    #: Folders below a project's root that are searched for instruction files.
    max_depth: int = Field(8, ge=0)


class StorageSettings(Section):
    """Where and how things are kept."""

    #: Units of work that may share one fsync.
    group_units: int = Field(64, ge=1)
    #: Milliseconds a unit waits for others to share its fsync.
    group_ms: float = Field(5.0, ge=0)
    #: Seconds to wait for the ledger while another process holds it locked.
    busy_timeout_s: float = Field(5.0, gt=0)
    #: Megabytes that are kept free on the ledger's disk for finishing what is in hand; below it new
    #: work is refused. 0 uses the disk up.
    low_water_mb: int = Field(50, ge=0)
    #: Rows the indexer hands to the vector index at once.
    index_batch: int = Field(500, ge=1, le=5_000)
    #: Seconds the vector index may take to answer, at most 100: the watchdog allows it 120.
    index_timeout_s: float = Field(30.0, gt=0, le=100)
    #: Where the vector index is: `embedded` in a process of the daemon's, or a Chroma `server`.
    index: Literal["embedded", "server"] = "embedded"
    #: server: its address, such as `http://localhost:8000`.
    index_url: str = Field("", pattern=r"^(https?://\S+)?$")
    #: Changes gathered before the index is told; the ledger answers for them meanwhile.
    index_items: int = Field(20, ge=1, le=5_000)
    #: Milliseconds a change waits for others at most, before the index is told.
    index_ms: int = Field(500, ge=0, le=60_000)
    #: Seconds between two checks of the index against the ledger.
    verify_every_s: float = Field(600, gt=0)
    #: Megabytes of vectors kept in memory for exact searches; beyond, rows are read each time.
    matrix_mb: int = Field(1_024, ge=0)

    @field_validator("index_url")
    @classmethod
    def _usable(cls, url: str, info: ValidationInfo) -> str:
        """Refuse an address that could never be used, while a server is wanted."""
        if url and info.data.get("index") == "server" and (why := addresses.problem(url)):
            raise ValueError(why)
        return url

    @model_validator(mode="after")
    def _server(self) -> Self:
        """Refuse a server without an address."""
        if self.index == "server" and not self.index_url:
            message = 'index = "server" needs index_url, such as http://localhost:8000'
            raise ValueError(message)
        return self


class EventsSettings(Section):
    """How durable events are handed out."""

    #: Attempts before an event is set aside as a dead letter.
    max_deliveries: int = Field(5, ge=1)
    #: Seconds a consumer rests after its first, second ... crash on an event; the rest is longer
    #: than the supervisor's window, so one poison event can never bring a branch down.
    pauses_s: tuple[Pause, ...] = Field((1.0, 5.0, 30.0, 120.0), min_length=1)
    #: Days for which handled events and finished runs are kept; what waits and dead letters stay.
    keep_days: float = Field(30, gt=0)


class ScheduleSettings(Section):
    """What is done by the clock, and how many backups are kept."""

    #: Seconds between two backups of the ledger; one that nobody wrote is not copied again.
    backup_every_s: float = Field(3_600, gt=0)
    #: Seconds between two times that what was handled long ago is deleted (events.keep_days).
    prune_every_s: float = Field(3_600, gt=0)
    #: Seconds between two checks of the whole ledger.
    check_every_s: float = Field(604_800, gt=0)
    #: Hours of which the newest backup is kept, counting those that have one.
    keep_hourly: int = Field(24, ge=1)
    #: Days of which the newest backup is kept, counting those that have one.
    keep_daily: int = Field(7, ge=0)
