"""Which provider the settings ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.embedding.hashing import HashingProvider
from cortex_actors.embedding.sentence import SentenceProvider

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex_actors.clock import Clock
    from cortex_actors.embedding.provider import Provider
    from cortex_actors.settings import EmbeddingSettings


def provider_for(
    settings: EmbeddingSettings, clock: Clock, on_line: Callable[[str], None] | None = None
) -> Provider:
    """Return the configured provider, not started yet.

    A model that is not on this machine is a state of the provider and no error here, so that the
    daemon starts, keeps what it is told and says what is missing. `on_line` is given what a model's
    process writes to its standard error.
    """
    if settings.provider == "hashing":
        return HashingProvider()
    return SentenceProvider(
        settings.model, clock, timeout=settings.request_timeout_s, on_line=on_line
    )
