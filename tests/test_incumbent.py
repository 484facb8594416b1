"""Which model answers: the ledger's, whatever the settings ask, and never another for it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from cortex_actors.assembly.context import Outside
from cortex_actors.assembly.embedder import Incumbent
from cortex_actors.embedding.provider import ProviderState
from cortex_actors.home import Home
from cortex_actors.sections import EmbeddingSettings
from cortex_actors.settings import Settings
from cortex_actors.storage.models import ChosenModel
from cortex_actors.testing import ManualClock

if TYPE_CHECKING:
    from pathlib import Path

    from cortex_actors.assembly.context import World

SMALL = ChosenModel("hashing-v1-64", "hashing", "hashing-v1-64", 64)


def incumbent(home: Path, chosen: ChosenModel | None = SMALL, **embedding: Any) -> Incumbent:
    """Return the incumbent of a home whose ledger names that model."""
    asked = {"provider": "hashing", **embedding}
    world = SimpleNamespace(
        home=Home(home),
        settings=Settings.model_validate({"embedding": asked}),
        clock=ManualClock(),
        outside=Outside(chosen=lambda _: chosen),
    )
    return Incumbent(cast("World", world), lambda _: None)


class TestProvider:
    def test_ledger(self, tmp_path: Path) -> None:
        """The ledger's model answers, not the one that the settings ask for."""
        assert "hashing-v1-64" == incumbent(tmp_path, model="hashing-v1-32").provider.model_id

    def test_settings(self, tmp_path: Path) -> None:
        """In a home that has none yet the settings choose."""
        found = incumbent(tmp_path, None, model="hashing-v1-32")

        assert "hashing-v1-32" == found.provider.model_id
        assert ChosenModel("hashing-v1-32", "hashing", "hashing-v1-32", 32) == found.make_first()

    @pytest.mark.parametrize("name", ["/nowhere/at/all", None])
    def test_gone(self, tmp_path: Path, name: str | None) -> None:
        """A model that is not on the machine any more keeps its own space, and says what to do."""
        gone = ChosenModel("mine@12345678", "sentence-transformers", name, 12)
        provider = incumbent(tmp_path, gone, model="/elsewhere").provider

        assert (ProviderState.MISSING, "mine@12345678", 12) == (
            provider.state,
            provider.model_id,
            provider.dimension,
        )
        assert str(name or "/elsewhere") in provider.reason
        # Where the ledger has no name for it, the settings still have a say.
        assert (name is None) == ("CORTEX_EMBEDDING__MODEL" in provider.reason)

    def test_another_in_its_place(self, tmp_path: Path) -> None:
        """A model that was trained anew in the same place does not answer for the old one."""
        before = replace(SMALL, model_id="hashing-v0-64")
        provider = incumbent(tmp_path, before).provider

        assert (ProviderState.MISSING, "hashing-v0-64") == (provider.state, provider.model_id)
        assert "is hashing-v1-64 now" in provider.reason
        assert "cortex embeddings migrate --to hashing-v1-64" in provider.reason

    def test_damaged(self, tmp_path: Path) -> None:
        """A compiled model that cannot be read is missing: its float form is another space."""
        form = ChosenModel("mini+int8-0123abcd", "sentence-transformers", "all-MiniLM-L6-v2", 384)
        provider = incumbent(tmp_path, form, provider="sentence-transformers").provider

        assert (ProviderState.MISSING, form.model_id) == (provider.state, provider.model_id)
        assert "cortex model prepare" in provider.reason


class TestReload:
    def test_shape(self, tmp_path: Path) -> None:
        """The same model is made anew when it is to work in another way, and only then."""
        found = incumbent(tmp_path)
        before = found.provider
        found.adopt(EmbeddingSettings(provider="hashing", batch_ms=7))
        same = found.provider
        found.adopt(EmbeddingSettings(provider="hashing", batch_ms=7, threads=3))

        assert before is same
        assert same is not found.provider
        assert "hashing-v1-64" == found.provider.model_id


class TestDiffers:
    @pytest.mark.parametrize(
        ("asked", "differs"),
        [
            ({}, ""),
            ({"model": "hashing-v1-64"}, ""),
            ({"model": "hashing-v1-32"}, "migrate --to hashing-v1-32 --provider hashing"),
            ({"provider": "sentence-transformers"}, "--provider sentence-transformers"),
        ],
    )
    def test_asked(self, tmp_path: Path, asked: dict[str, Any], differs: str) -> None:
        """Only a model that somebody wrote down counts as one that is asked for."""
        found = incumbent(tmp_path, **asked).explain_difference()

        assert (differs in found) if differs else (found == "")

    def test_compiled(self, tmp_path: Path) -> None:
        """The compiled form of the model that is asked for is that model."""
        form = ChosenModel("all-MiniLM-L6-v2+int8-0123abcd", "sentence-transformers", "mini", 384)
        asked = {"provider": "sentence-transformers", "model": "all-MiniLM-L6-v2"}

        assert "" == incumbent(tmp_path, form, **asked).explain_difference()


class TestHost:
    def test_another(self, tmp_path: Path) -> None:
        """A model on a host that the settings do not lead to is missing: nothing is sent there."""
        found = incumbent(tmp_path, base_url="http://localhost:1/v1").make_candidate(
            "openai:mini@far"
        )

        assert (ProviderState.MISSING, "openai:mini@far") == (found.state, found.model_id)
        assert "leads to openai:mini@localhost:1" in found.reason

    def test_changed(self, tmp_path: Path) -> None:
        """An address that leads elsewhere now names the setting, and the way to go on with it."""
        there = ChosenModel("openai:mini@far", "openai", "mini", 8)
        found = incumbent(tmp_path, there, base_url="http://localhost:1/v1").provider

        assert (ProviderState.MISSING, "openai:mini@far") == (found.state, found.model_id)
        assert "put that one back (embedding.base_url)" in found.reason
        assert "migrate --to openai:mini" in found.reason


class TestNames:
    @pytest.mark.parametrize(
        ("name", "kind", "expected"),
        [
            ("hashing-v1-32", None, ("hashing-v1-32", "hashing", "hashing-v1-32")),
            ("all-MiniLM-L6-v2", None, ("all-MiniLM-L6-v2", "sentence-transformers", None)),
            ("openai:mini", None, ("openai:mini@localhost:1", "openai", "mini")),
            ("openai:mini@localhost:1", None, ("openai:mini@localhost:1", "openai", "mini")),
            ("openai:@cf/mini", None, ("openai:@cf/mini@localhost:1", "openai", "@cf/mini")),
            ("mini", "openai", ("openai:mini@localhost:1", "openai", "mini")),
        ],
    )
    def test_tells(
        self, tmp_path: Path, name: str, kind: str | None, expected: tuple[str, str, str | None]
    ) -> None:
        """A name tells whose model it is, where it can."""
        found = incumbent(tmp_path, base_url="http://localhost:1/v1")
        row = found.make_row(found.make_candidate(name, kind), name, kind)

        assert (expected[0], expected[1], expected[2] or name) == (
            row.model_id,
            row.provider,
            row.name,
        )


class TestRefused:
    @pytest.mark.parametrize(
        "name", ["nope", "all-MiniLM-L6-v2", "hashing-v1-0", "hashing-v1-8193"]
    )
    def test_no_hashing(self, tmp_path: Path, name: str) -> None:
        """Who wishes for a hashing model names one that can be."""
        found = incumbent(tmp_path).make_candidate(name, "hashing")

        assert ProviderState.MISSING is found.state
        assert "give a name such as hashing-v1-384" in found.reason

    @pytest.mark.parametrize("kind", ["hashing", None])
    def test_plain(self, tmp_path: Path, kind: str | None) -> None:
        """The plain word is the hashing model of the usual length."""
        found = incumbent(tmp_path)

        assert "hashing-v1-384" == found.make_candidate("hashing", kind).model_id

    @pytest.mark.parametrize(("name", "kind"), [("gpt-4", "openai"), ("openai:gpt-4", None)])
    def test_no_endpoint(self, tmp_path: Path, name: str, kind: str | None) -> None:
        """No endpoint is asked for a model that nobody has led to; a key leads to the usual one."""
        found = incumbent(tmp_path).make_candidate(name, kind)
        keyed = incumbent(tmp_path, api_key="secret").make_candidate(name, kind)

        assert ProviderState.MISSING is found.state
        assert "embedding.base_url" in found.reason
        assert "embedding.api_key" in found.reason
        assert "openai:gpt-4@api.openai.com" == keyed.model_id
