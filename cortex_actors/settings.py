"""Every number a user may turn, in sections; each actor is handed its own frozen section.

Read from `cortex.toml` in the home, then from the environment, where `CORTEX_EMBEDDING__MODEL` is
`model` of `[embedding]`. An unknown key is an error, because a misspelt setting that is silently
ignored costs an evening. docs/configuration.md lists them all; a test holds it to this module.
"""

from __future__ import annotations

import os
import tomllib
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from cortex_actors.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.home import Home


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

    #: Where vectors come from; `hashing` needs no model and is for tests.
    provider: Literal["sentence-transformers", "hashing"] = "sentence-transformers"
    #: A model's name, or the path of a folder that holds one.
    model: str = "all-MiniLM-L6-v2"
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


class FederationSettings(Section):
    """How one question goes to every store."""

    #: Seconds a store may take before the answer goes out without it, at most 30.
    timeout_s: float = Field(5.0, gt=0, le=30)
    #: Reciprocal rank fusion's constant (Cormack and others 2009: 60).
    k: int = Field(60, ge=1)
    #: Seconds a question waits for a model that is still loading, at most 60: the watchdog
    #: allows a question 120 in all.
    patience_s: float = Field(30.0, ge=0, le=60)


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


class Settings(BaseSettings):
    """All sections."""

    model_config = SettingsConfigDict(
        env_prefix="CORTEX_", env_nested_delimiter="__", frozen=True, extra="forbid"
    )

    accumulation: AccumulationSettings = AccumulationSettings()
    reconciliation: ReconciliationSettings = ReconciliationSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    federation: FederationSettings = FederationSettings()
    watching: WatchingSettings = WatchingSettings()
    storage: StorageSettings = StorageSettings()
    events: EventsSettings = EventsSettings()
    schedule: ScheduleSettings = ScheduleSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - a fixed signature
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - not used: no .env files
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - nor secret folders
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Let the environment win over the file."""
        assert isinstance(env_settings, EnvSettingsSource)  # noqa: S101 - a fact for mypy
        return env_settings, init_settings


#: pydantic's words for what people do wrong -> ours.
_PROBLEMS = {
    "extra_forbidden": "there is no such setting (docs/configuration.md lists them)",
    "model_type": "it is a section, so write it as a table: [section]",
    "model_attributes_type": "it is a section, so write it as a table: [section]",
    "too_short": "it needs at least one item",
}


def load(home: Home) -> Settings:
    """Return the settings of a home.

    Raises `ConfigurationError` naming the file or variable and the key that is wrong.
    """
    _known_sections(os.environ)
    try:
        return Settings(**_file(home))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        variable = "CORTEX_" + "__".join(str(part).upper() for part in first["loc"])
        problem = _PROBLEMS.get(first["type"], first["msg"].lower())
        message = (
            f"the setting {key} cannot be used: {problem}; "
            f"mend it in {home.settings} or in the variable {variable}"
        )
        raise ConfigurationError(message) from error
    except SettingsError as error:
        message = f"a variable CORTEX_* cannot be used: {error}; lists are written as JSON: [1, 5]"
        raise ConfigurationError(message) from error


def _known_sections(environ: Mapping[str, str]) -> None:
    """Raise `ConfigurationError` for a variable of a section that does not exist."""
    for name in environ:
        section, nested, _ = name.upper().removeprefix("CORTEX_").partition("__")
        if not (nested and name.upper().startswith("CORTEX_")):
            continue
        if section.lower() not in Settings.model_fields:
            message = (
                f"the variable {name} sets nothing: there is no section {section.lower()!r}; "
                f"there are {', '.join(Settings.model_fields)}"
            )
            raise ConfigurationError(message)


def _file(home: Home) -> dict[str, Any]:
    """Return what the settings file says; nothing when there is none."""
    try:
        return tomllib.loads(home.settings.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        message = f"cannot read the settings {home.settings}: {error}; mend or remove the file"
        raise ConfigurationError(message) from error
