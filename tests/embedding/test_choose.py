from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.embedding.factory import AbsentProvider, HashingProvider, make_provider
from cortex_actors.embedding.openai import OpenAIProvider
from cortex_actors.embedding.provider import ProviderState
from cortex_actors.embedding.torch_provider import SentenceProvider
from cortex_actors.sections import EmbeddingSettings
from cortex_actors.storage.models import ChosenModel
from tests.embedding.support import is_provider

if TYPE_CHECKING:
    from pathlib import Path

    from tests.embedding.support import ManualClock

SETTINGS = EmbeddingSettings(provider="hashing")


class TestSettings:
    def test_hashing(self, clock: ManualClock) -> None:
        """The hashing provider is chosen by its name, which may say how long vectors are."""
        sized = SETTINGS.model_copy(update={"model": "hashing-v1-64"})

        assert 384 == make_provider(SETTINGS, clock).dimension
        assert 64 == make_provider(sized, clock).dimension

    @pytest.mark.parametrize("width", ["0", "8193", "9" * 5_000, "-3", "²", ""])
    def test_width(self, clock: ManualClock, width: str) -> None:
        """A width that no vector has is a missing model, and costs no memory."""
        sized = SETTINGS.model_copy(update={"model": f"hashing-v1-{width}"})
        chosen = is_provider(make_provider(sized, clock))

        assert ProviderState.MISSING is chosen.state
        assert "1 to 8192 numbers" in chosen.reason

    def test_openai(self, clock: ManualClock) -> None:
        """An endpoint is chosen with its model and address."""
        settings = EmbeddingSettings(provider="openai", model="m", base_url="http://h:1/v1")
        chosen = is_provider(make_provider(settings, clock))

        assert isinstance(chosen, OpenAIProvider)
        assert ("openai:m@h:1", 0, 512) == (chosen.model_id, chosen.dimension, chosen.max_tokens)

    async def test_openai_unusable(self, clock: ManualClock) -> None:
        """An address that cannot be used is a state and no error, known before the start."""
        settings = EmbeddingSettings(provider="openai", base_url="http://user:x@h/v1")
        chosen = make_provider(settings, clock)
        await chosen.start()

        assert ProviderState.MISSING is await chosen.wait_settled()
        await chosen.close()


class TestLedgersChoice:
    @pytest.mark.parametrize("name", [None, "all-MiniLM-L6-v2"])
    def test_float(self, clock: ManualClock, tmp_path: Path, name: str | None) -> None:
        """The ledger's model wins over that of the settings; without a name theirs is taken."""
        settings = EmbeddingSettings(provider="hashing")
        model = ChosenModel("all-MiniLM-L6-v2", "sentence-transformers", name, 384)
        chosen = make_provider(settings, clock, models=tmp_path, chosen=model)

        assert isinstance(chosen, SentenceProvider)
        assert "all-MiniLM-L6-v2" == chosen.model_id

    def test_hashing(self, clock: ManualClock) -> None:
        """A hashing provider is made as long as it was."""
        model = ChosenModel("hashing-v1-32", "hashing", "hashing-v1-32", 32)
        chosen = make_provider(EmbeddingSettings(), clock, chosen=model)

        assert isinstance(chosen, HashingProvider)
        assert model.model_id == chosen.model_id

    def test_openai(self, clock: ManualClock) -> None:
        """An endpoint's vectors must be as long as those there are."""
        model = ChosenModel("openai:m@h", "openai", "m", 768)
        settings = EmbeddingSettings(base_url="http://h/v1", dimension=4)
        chosen = make_provider(settings, clock, chosen=model)

        assert (model.model_id, 768) == (chosen.model_id, chosen.dimension)

    def test_compiled_lost(self, clock: ManualClock, tmp_path: Path) -> None:
        """A compiled model whose folder is gone is missing, under its own name, with the reason."""
        name = "all-MiniLM-L6-v2+int8-01234567"
        model = ChosenModel(name, "sentence-transformers", "all-MiniLM-L6-v2", 384)
        chosen = make_provider(EmbeddingSettings(), clock, models=tmp_path, chosen=model)

        assert isinstance(chosen, AbsentProvider)
        assert (name, ProviderState.MISSING) == (chosen.model_id, chosen.state)
        assert str(tmp_path) in chosen.reason
