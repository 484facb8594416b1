"""Which provider stands behind a model: the ledger's choice, or else the settings'."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.embedding.absent import AbsentProvider
from cortex_actors.embedding.compiled import CompiledProvider
from cortex_actors.embedding.hashing import DIMENSION, HashingProvider
from cortex_actors.embedding.manifest import read
from cortex_actors.embedding.openai import OpenAIProvider
from cortex_actors.embedding.seat import is_compiled
from cortex_actors.embedding.sentence import SentenceProvider
from cortex_actors.errors import ModelMissing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cortex_actors.clock import Clock
    from cortex_actors.embedding.provider import Provider
    from cortex_actors.modelsections import EmbeddingSettings
    from cortex_actors.storage.models import Chosen

#: What a hashing provider's name begins with; the rest is how long its vectors are.
_HASHING = "hashing-v1-"

#: The word that stands for the hashing model of the usual length.
_PLAIN = "hashing"

#: The providers there are.
PROVIDERS = ("sentence-transformers", "openai", "hashing")

#: Numbers in one vector at most: twice the widest model in use, and no vector fills the memory.
WIDEST = 8_192


def provider_for(
    settings: EmbeddingSettings,
    clock: Clock,
    *,
    models: Path | None = None,
    chosen: Chosen | None = None,
    on_line: Callable[[str], None] | None = None,
) -> Provider:
    """Return the provider of a model, not started yet.

    A model that is not on this machine is a state of the provider and no error here, so that the
    daemon starts, keeps what it is told and says what is missing. A compiled model whose folder is
    lost or damaged is missing, too: the float model it was made of is another vector space. Whether
    the provider's id is the one that was chosen is for the caller to compare. Reads some small
    files, and all of a compiled model (20 ms).

    Args:
        settings: how it works, and which model it has where `chosen` does not say.
        clock: the time.
        models: where compiled models are.
        chosen: the model that the ledger says; decides against the settings.
        on_line: is given what a model's process writes to its standard error.

    """
    kind: str = settings.provider
    name = settings.model
    if chosen is not None:
        if models is not None and is_compiled(chosen.model_id):
            return _compiled(models, chosen, clock, settings=settings)
        kind, name = chosen.provider, chosen.name or name
    match kind:
        case "hashing":
            return _hashing(name)
        case "openai":
            width = 0 if chosen is None else chosen.dimension
            return OpenAIProvider(name, clock, settings=settings, dimension=width)
        case _:
            return SentenceProvider(
                name, clock, timeout=settings.request_timeout_s, on_line=on_line
            )


def _compiled(
    models: Path, chosen: Chosen, clock: Clock, *, settings: EmbeddingSettings
) -> Provider:
    """Return the provider of a compiled model that its manifest vouches for."""
    folder = models / chosen.model_id
    try:
        manifest = read(folder)
    except ModelMissing as error:
        return AbsentProvider(chosen.model_id, chosen.dimension, str(error))
    return CompiledProvider(
        folder,
        manifest,
        clock,
        threads=settings.threads,
        batch_tokens=settings.batch_tokens,
    )


def _hashing(name: str) -> Provider:
    """Return the hashing provider of that name, which may say how long its vectors are."""
    width = name.removeprefix(_HASHING)
    if width == name:
        return HashingProvider(DIMENSION)
    if width.isascii() and width.isdecimal() and 1 <= int(width[:9]) <= WIDEST:
        return HashingProvider(int(width[:9]))
    return no_hashing(name)


def is_hashing(name: str) -> bool:
    """Say whether a name is one of a hashing model, whatever its bounds."""
    return name == _PLAIN or name.removeprefix(_HASHING) != name


def no_hashing(name: str) -> AbsentProvider:
    """Return what stands for a hashing model that cannot be."""
    return AbsentProvider(
        name,
        0,
        f"there is no hashing model {name!r}: a vector has 1 to {WIDEST} numbers; "
        f"give a name such as {_HASHING}{DIMENSION}",
    )
