"""The settings of a home, in sections; each actor is handed its own frozen section.

Read from `calibration.toml` (which `cortex contradictions calibrate` writes) and `cortex.toml` in
the home, then from the environment, where `CORTEX_EMBEDDING__MODEL` is `model` of `[embedding]`. An
unknown key is an error, because a misspelt setting that is silently ignored costs an evening. The
sections and their keys are in sections.py.
"""

from __future__ import annotations

import os
import tomllib
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from cortex_actors import sections
from cortex_actors.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from cortex_actors.home import Home


class Settings(BaseSettings):
    """All sections."""

    model_config = SettingsConfigDict(
        env_prefix="CORTEX_",
        env_nested_delimiter="__",
        frozen=True,
        extra="forbid",
        hide_input_in_errors=True,  # what was given may be a token, and logs hold tracebacks
    )

    accumulation: sections.AccumulationSettings = sections.AccumulationSettings()
    reconciliation: sections.ReconciliationSettings = sections.ReconciliationSettings()
    organisation: sections.OrganisationSettings = sections.OrganisationSettings()
    resolution: sections.ResolutionSettings = sections.ResolutionSettings()
    embedding: sections.EmbeddingSettings = sections.EmbeddingSettings()
    judging: sections.JudgingSettings = sections.JudgingSettings()
    memory: sections.MemorySettings = sections.MemorySettings()
    federation: sections.FederationSettings = sections.FederationSettings()
    watching: sections.WatchingSettings = sections.WatchingSettings()
    storage: sections.StorageSettings = sections.StorageSettings()
    events: sections.EventsSettings = sections.EventsSettings()
    schedule: sections.ScheduleSettings = sections.ScheduleSettings()
    http: sections.HttpSettings = sections.HttpSettings()
    mcp: sections.McpSettings = sections.McpSettings()
    hooks: sections.HooksSettings = sections.HooksSettings()
    tls: sections.TlsSettings = sections.TlsSettings()

    @model_validator(mode="before")
    @classmethod
    def _trusting(cls, given: Any) -> Any:  # noqa: ANN401 - whatever the sources hold
        """Let what `[tls]` says of certificates hold where a section says nothing of its own."""
        try:
            trusts = sections.TlsSettings.model_validate(given.get("tls", {})).trust_system_store
        except ValidationError:
            return given  # reported with the name of its key, like everything else
        return {**given, **{name: _with(given, name) for name in _CONNECTING}} if trusts else given

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


#: Sections with connections of their own, and what they take over from [tls].
_CONNECTING = ("embedding", "judging", "storage")
_TRUSTING = {"trust_system_store": True}


def _with(given: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 - whatever a source holds
    """Return a section that believes the system's certificates, unless it says so or otherwise."""
    found = given.get(name, {})
    if isinstance(found, sections.SettingsSection):
        said = found.model_fields_set & set(_TRUSTING)
        return found if said else found.model_copy(update=_TRUSTING)
    return {**_TRUSTING, **found} if isinstance(found, dict) else found


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
    for name in os.environ:
        section, nested, _ = name.upper().removeprefix("CORTEX_").partition("__")
        is_ours = nested and name.upper().startswith("CORTEX_")
        if is_ours and section.lower() not in Settings.model_fields:
            raise ConfigurationError(
                f"the variable {name} sets nothing: there is no section {section.lower()!r}; "
                f"there are {', '.join(Settings.model_fields)}"
            )
    try:
        return Settings(**_over(_file(home.settings), _file(home.calibration)))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        problem = _PROBLEMS.get(first["type"], first["msg"].lower().removeprefix("value error, "))
        raise ConfigurationError(
            f"the setting {key} cannot be used: {problem}; "
            f"mend it in {home.settings} or in the variable {_variable(first['loc'])}"
        ) from error
    except SettingsError as error:
        message = f"a variable CORTEX_* cannot be used: {error}; lists are written as JSON: [1, 5]"
        raise ConfigurationError(message) from error


def _variable(place: Sequence[int | str]) -> str:
    """Return the variable of what is wrong; of a whole section, what its variables begin with."""
    # What is in a list has no variable of its own.
    named = [str(part).upper() for part in takewhile(lambda part: isinstance(part, str), place)]
    variable = "CORTEX_" + "__".join(named)
    is_section = len(named) == 1 and named[0].lower() in Settings.model_fields
    return f"{variable}__..." if is_section and variable not in os.environ else variable


def _file(path: Path) -> dict[str, Any]:
    """Return what a settings file says; nothing when there is none."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        message = f"cannot read the settings {path}: {error}; mend or remove the file"
        raise ConfigurationError(message) from error


def _over(above: Mapping[str, Any], below: Mapping[str, Any]) -> dict[str, Any]:
    """Return two files as one: what the first says wins, key by key."""
    both = {**below, **above}
    for key in above.keys() & below.keys():
        if isinstance(above[key], dict) and isinstance(below[key], dict):
            both[key] = _over(above[key], below[key])
    return both
