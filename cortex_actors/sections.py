"""The sections of the settings: every number a user may turn, with what it means and its bounds.

docs/configuration.md is made from these comments; a test holds it to this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
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

    # An error that showed what was given would show tokens.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class AccumulationSettings(Section):
    """How instruction files become insights."""

    #: What an insight is: one statement (a list item, a paragraph, a table row, a command) or a
    #: whole section. Another one reads every file again.
    granularity: Literal["statement", "section"] = "statement"
    #: Cosine from which on a new text counts for an insight that is known, unless they disagree.
    merge: float = Field(0.92, ge=0, le=1)
    #: Bytes an instruction file may have (Cerno's limit, and the parsers': 1 MiB).
    max_file_bytes: int = Field(1_048_576, gt=0, le=1_048_576)


class DomainThresholds(Section):
    """Thresholds of one domain; what is left out is as it is for all."""

    #: Cosine from which on two statements of the domain are one, unless they disagree.
    cluster: float | None = Field(None, ge=0, le=1)
    #: Cosine from which on the rules may find that they are one, or disagree.
    judged: float | None = Field(None, ge=0, le=1)


class ReconciliationSettings(Section):
    """What is compared with what, and when an insight has earned becoming a principle (Cerno's)."""

    #: Cosine from which on two statements that are known are one, unless they disagree.
    cluster: float = Field(0.88, ge=0, le=1)
    #: Cosine from which on any two statements are compared: they may be one, or disagree. Below it
    #: only those are that take a stand on one thing.
    judged: float = Field(0.5, ge=0, le=1)
    #: Cosine from which on the model takes two texts to be about one thing.
    floor: float = Field(0.3, ge=0, le=1)
    #: Least confidence, 0 to 1.
    promotion_confidence: float = Field(0.7, ge=0, le=1)
    #: Least number of observations: revisions of files that say it.
    promotion_observations: int = Field(3, ge=1)
    #: Least age, days.
    promotion_age_days: float = Field(7, ge=0)
    #: Least number of independent projects for promotion without a person.
    promotion_projects: int = Field(2, ge=1)
    #: Thresholds of single domains, each a table such as `[reconciliation.domains.python]` with
    #: `cluster` and `judged`; `cortex calibrate` suggests them.
    domains: Mapping[str, DomainThresholds] = Field({})


class WatchingSettings(Section):
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
    #: server: whether the operating system's certificates count; `tls.trust_system_store` has it so
    #: for every connection.
    trust_system_store: bool = False
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

    #: Seconds between two times that every instruction file is read again, whatever was noticed.
    scan_every_s: float = Field(86_400, gt=0)
    #: Seconds between two times that all insights are compared and weighed anew.
    reconcile_every_s: float = Field(86_400, gt=0)
    #: Seconds between two times that principles are distilled, whatever was reconciled.
    organise_every_s: float = Field(86_400, gt=0)
    #: Seconds between two times that principles nobody observes any more lose rank.
    decay_every_s: float = Field(86_400, gt=0)
    #: Seconds between two digests: what was learned since the last one.
    digest_every_s: float = Field(86_400, gt=0)
    #: Seconds between two times that the attention of memories is weighed anew.
    attention_every_s: float = Field(21_600, gt=0)
    #: Seconds between two times that memories are promoted which have become old enough for it.
    promotions_every_s: float = Field(3_600, gt=0)
    #: Seconds between two times that memories are archived which faded long ago
    #: (memory.archive_days).
    archive_every_s: float = Field(86_400, gt=0)
    #: Seconds by which each of those eight comes later, up to so many, by chance: they do not all
    #: fall into the same second, on one machine or on many. At most a tenth of the interval.
    jitter_s: float = Field(600, ge=0)
    #: Seconds from one backup of the ledger to the next; one that nobody wrote is not copied again.
    #: What was acknowledged since the last is at risk when the file is lost: these, and the time
    #: that two copies take. With 60 s for that it is at most 5 minutes.
    backup_every_s: float = Field(240, gt=0)
    #: Seconds between two times that what was handled long ago is deleted (events.keep_days).
    prune_every_s: float = Field(3_600, gt=0)
    #: Seconds between two checks of the whole ledger.
    check_every_s: float = Field(86_400, gt=0)
    #: Seconds between two trials of the daemon, in which it remembers, recalls and forgets a probe;
    #: the first comes half a minute after a start. While nobody writes there is one a day.
    probe_every_s: float = Field(900, gt=0)
    #: Hours of which the newest backup is kept, counting those that have one.
    keep_hourly: int = Field(24, ge=1)
    #: Days of which the newest backup is kept, counting those that have one.
    keep_daily: int = Field(7, ge=0)
