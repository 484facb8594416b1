"""Which embedding model answers in a home, and how the providers of others are made.

The ledger decides: its active model answers whatever the settings ask for since. They choose the
model of a home that has none yet, and say how a provider works (threads, retries, an endpoint).
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors.assembly.reload import MODEL
from cortex_actors.embedding import factory
from cortex_actors.embedding.compiler import compile_model
from cortex_actors.embedding.manifest import find_refusal
from cortex_actors.embedding.models import PACKAGED, PUBLISHER, locate
from cortex_actors.embedding.provider import Provider, ProviderState
from cortex_actors.errors import ModelMissing, NotCompilable
from cortex_actors.storage.models import ChosenModel

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex_actors.assembly.context import World
    from cortex_actors.sections import EmbeddingSettings

#: Names that say which provider they belong to.
_HASHING = re.compile(r"hashing-v1-\d+")
_OPENAI = re.compile(r"openai:(?P<model>.+?)(@(?P<host>[^@]+))?")

#: Keys of the settings that choose a model.
_CHOOSING = ("provider", "model", "base_url")

#: The mend of a model that the ledger names.
_BACK = "bring it back, or go on with another one: cortex embeddings migrate --to NAME"

#: Why no endpoint is asked for a model.
_NOWHERE = (
    "the settings name no endpoint: set embedding.base_url to its address, or embedding.api_key to "
    "the key for the usual one, and ask again once the daemon has been restarted"
)

#: Keys of the settings that no provider is made with.
_OTHERS = frozenset({"compile", "batch_items", "batch_ms", "cache_entries", "queue_limit"})


class Incumbent:
    """The provider that answers now; another one takes its place, and the two are never mixed."""

    def __init__(self, world: World, on_line: Callable[[str], None]) -> None:
        """Begin with the model of the ledger, else with that of the settings; nothing is loaded.

        `on_line` is given what models' processes write.
        """
        self._world = world
        self._settings = world.settings.embedding
        self._on_line = on_line
        self._chosen = world.outside.chosen(world.home.ledger)
        #: The provider that answers.
        self.provider = self.make(self._chosen)
        self._wanted = self._asked()

    def adopt(self, settings: EmbeddingSettings) -> None:
        """Follow other settings: the same model, with a new provider if it is to differ."""
        before, self._settings = self._settings, settings
        if _shape(before) != _shape(settings):
            self.provider = self.make(self._chosen)
        if before != settings:
            self._wanted = self._asked()

    def make(self, chosen: ChosenModel | None) -> Provider:
        """Return a provider of that model, or of the one the settings ask for; not started.

        What is not there, or is another model by now, is a provider that is missing and says why.
        """
        if chosen is None:
            return self._made(self._settings, None)
        wanted = chosen
        if chosen.name is None:
            wanted = replace(chosen, name=self._settings.model)
        provider = self._made(self._settings, wanted)
        if provider.model_id == chosen.model_id:
            return provider
        reason = _gone(chosen) or provider.reason
        if provider.state is not ProviderState.MISSING:
            remote = wanted.provider == "openai"
            place, kind = (" (embedding.base_url)", "openai:") if remote else ("", "")
            reason = (
                f"the model {wanted.name} is {provider.model_id} now, and the vectors of this home "
                f"were made with {chosen.model_id}: put that one back{place}, or go on with this "
                f"one: cortex embeddings migrate --to {kind}{wanted.name}"
            )
        return factory.AbsentProvider(chosen.model_id, chosen.dimension, reason)

    def make_candidate(self, name: str, kind: str | None = None) -> Provider:
        """Return a provider of the model of that name, not started and never the compiled form.

        A name tells its provider where it can: an installed model, a folder, `hashing-v1-64`,
        `openai:NAME`; else it is the configured one's. `openai:NAME@HOST` is missing when the
        settings lead to another host: texts go only to a host that a person has named.
        """
        kind, plain = _told(name, kind or self._settings.provider, sure=kind is not None)
        if kind == "hashing" and not factory.is_hashing(plain):
            # The settings may leave the name to the hashing model; who wishes for one names it.
            return factory.refuse_hashing(plain)
        if kind == "openai" and not _is_led(self._settings):
            return factory.AbsentProvider(f"openai:{plain}", 0, _NOWHERE)
        asked = self._settings.model_copy(update={"provider": kind, "model": plain})
        found, wanted = self._made(asked, None), _OPENAI.fullmatch(name)
        leads_elsewhere = wanted and wanted["host"] and found.model_id != name
        if not (wanted and leads_elsewhere) or found.state is ProviderState.MISSING:
            return found
        reason = (
            f"embedding.base_url leads to {found.model_id}: set it to where {wanted['host']} "
            f"serves the model and start the daemon again, or ask for openai:{plain}"
        )
        return factory.AbsentProvider(name, 0, reason)

    def make_row(self, provider: Provider, name: str, kind: str | None = None) -> ChosenModel:
        """Return what the ledger is to keep of a candidate."""
        kind, name = _told(name, kind or self._settings.provider, sure=kind is not None)
        if kind == "hashing":
            name = provider.model_id
        return ChosenModel(provider.model_id, kind, name, provider.dimension)

    def make_first(self) -> ChosenModel:
        """Return what the ledger is to keep of the model that the settings ask for."""
        chosen = self._settings
        return self.make_row(self.provider, chosen.model, chosen.provider)

    def settle(self, chosen: ChosenModel) -> None:
        """Note what the ledger says of the model that answers."""
        self._chosen = chosen

    async def compile_model(
        self, model: ChosenModel, on_step: Callable[[str], None]
    ) -> ChosenModel:
        """Return the compiled form of a sentence-transformers model, making it if need be.

        Takes some 20 s of a low-priority process; `on_step` is given its steps. Raises
        `CompileFailed`, `ModelMissing`.
        """
        found, folder = locate(model.name or self._settings.model), self._world.home.models
        if (reason := await asyncio.to_thread(find_refusal, folder, found.model_id)) is not None:
            raise NotCompilable(reason)

        def tell(line: str) -> None:
            self._on_line(line)
            on_step(line)

        work = partial(compile_model, found, folder, clock=self._world.clock, on_line=tell)
        made = await self._world.tasks.run(f"compile {found.model_id}", work)
        return ChosenModel(made.model_id, model.provider, model.name, made.dimension)

    async def take(self, chosen: ChosenModel, provider: Provider) -> None:
        """Let another model answer, and restart the actors that hold the one before.

        Returns once the new one answers. Callers wait meanwhile, or get an error to ask again.
        The provider before is closed.
        """
        before = self.provider

        def change() -> None:
            self._chosen, self.provider = chosen, provider

        await self._world.start_again(change, MODEL)
        await before.close()

    def explain_difference(self) -> str:
        """Return how the settings ask for another model than the one that answers; empty: no.

        Only keys that a person wrote count: a default asks for nothing.
        """
        asked, chosen, wanted = self._settings.model_fields_set, self._chosen, self._wanted
        if chosen is None or not wanted:
            return ""
        same = wanted in (chosen.model_id, factory.find_source(chosen.model_id))
        kind, name = self._settings.provider, self._settings.model
        # Where neither of these keys is written, any model of the provider's is meant.
        if same or (not asked.intersection({"model", "base_url"}) and kind == chosen.provider):
            return ""
        return (
            f"{chosen.model_id} answers, and the settings ask for {wanted}: change to it with "
            f"cortex embeddings migrate --to {name if kind != 'hashing' else wanted} --provider "
            f"{kind}, or set embedding.model to the one that answers"
        )

    def _asked(self) -> str:
        """Return the id of the model that a person wrote down; empty where none is written."""
        if not self._settings.model_fields_set.intersection(_CHOOSING):
            return ""
        return self._made(self._settings, None).model_id

    def _made(self, settings: EmbeddingSettings, chosen: ChosenModel | None) -> Provider:
        """Return a provider."""
        world = self._world
        return world.outside.provider(
            settings, world.clock, models=world.home.models, chosen=chosen, on_line=self._on_line
        )


def _told(name: str, kind: str, *, sure: bool) -> tuple[str, str]:
    """Return a model's provider and the name it has there."""
    if match := _OPENAI.fullmatch(name):
        return "openai", match["model"]
    if sure:
        return kind, name
    if name == "hashing" or _HASHING.fullmatch(name):
        return "hashing", name
    if name.removeprefix(PUBLISHER) in PACKAGED or Path(name).expanduser().is_dir():
        return "sentence-transformers", name
    return ("openai" if kind == "openai" else "sentence-transformers"), name


def _gone(chosen: ChosenModel) -> str:
    """Return why a float model of the ledger is not there; the settings could not mend that."""
    if chosen.provider != "sentence-transformers" or chosen.name is None:
        return ""
    if factory.is_compiled(chosen.model_id):
        return ""
    try:
        locate(chosen.name, mend=_BACK)
    except ModelMissing as error:
        return str(error)
    return ""


def _is_led(settings: EmbeddingSettings) -> bool:
    """Say whether a person said where models of endpoints are."""
    said = settings.model_fields_set & {"base_url"}
    return bool(said and settings.base_url) or bool(settings.api_key.get_secret_value())


def _shape(settings: EmbeddingSettings) -> dict[str, object]:
    """Return what a provider is made with."""
    return {key: each for key, each in settings if key not in _OTHERS and key not in _CHOOSING}
