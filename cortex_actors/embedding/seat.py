"""What a migration needs of the daemon: whose model answers, and how another takes its place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex_actors.embedding.provider import Provider
    from cortex_actors.storage.models import Chosen

#: What the id of a compiled model has behind its float model's.
_COMPILED = re.compile(r"\+(int8|fp32)-[0-9a-f]{8}$")


class Doing(StrEnum):
    """What the migrator is at."""

    IDLE = "idle"
    COMPILING = "compiling"
    MIGRATING = "migrating"
    #: Something keeps it from going on; it tries again by itself.
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Making:
    """A compile that is under way: of which float model, since when, and its last step."""

    source: str
    #: UTC microseconds.
    since: int
    step: str = ""


@dataclass(frozen=True, slots=True)
class Info:
    """Which models there are and how far the coming one is."""

    state: Doing
    #: Why it waits, or what failed; empty when all is well.
    reason: str
    #: What is worth knowing and no fault: why a model has no compiled form.
    note: str
    #: How the settings ask for another model than the one that answers; empty when they do not.
    differs: str
    active: Chosen | None
    coming: Chosen | None
    #: Distinct texts that may be found, those with a vector of the coming model, and those that it
    #: cannot embed.
    total: int
    done: int
    failed: int
    #: Texts a second, and seconds until the switch; None while that is not known.
    rate: float
    left_s: float | None
    making: Making | None = None


class Seat(Protocol):
    """The place of the model that answers."""

    @property
    def provider(self) -> Provider:
        """The provider that answers."""

    def make(self, chosen: Chosen | None) -> Provider:
        """Return a provider of a model, not started; one that is missing says why."""

    def candidate(self, name: str, kind: str | None = None) -> Provider:
        """Return a provider of the model of that name, not started."""

    def row(self, provider: Provider, name: str, kind: str | None = None) -> Chosen:
        """Return what the ledger is to keep of a candidate."""

    def first(self) -> Chosen:
        """Return what the ledger is to keep of the model that the settings ask for."""

    def settle(self, chosen: Chosen) -> None:
        """Note what the ledger says of the model that answers."""

    def differs(self) -> str:
        """Return how the settings ask for another model; empty when they do not."""

    async def compiled(self, model: Chosen, on_step: Callable[[str], None]) -> Chosen:
        """Return a model's compiled form, made if need be; raises `CompileFailed`.

        `on_step` is given a line for each step.
        """

    async def take(self, chosen: Chosen, provider: Provider) -> None:
        """Let another model answer, and start anew whoever was handed the one before.

        Returns once the new one answers. The provider before is closed.
        """


def source_of(model_id: str) -> str:
    """Return the id of a compiled model's float model; any other id is its own."""
    return _COMPILED.sub("", model_id)


def is_compiled(model_id: str) -> bool:
    """Say whether an id is a compiled model's."""
    return _COMPILED.search(model_id) is not None
