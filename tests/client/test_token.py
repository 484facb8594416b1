"""As whom a client asks: as the agent whose token it has, else as the owner."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.cli import entry
from cortex_actors.client.connection import Client

if TYPE_CHECKING:
    from pathlib import Path


def sent(client: Client) -> dict[str, Any]:
    """Return the request that a client would send."""
    found: dict[str, Any] = json.loads(client.encode_call("recall", {"query": "x"}))
    return found


class TestToken:
    def test_owner(self, tmp_home: Path) -> None:
        """Without a token none is sent."""
        assert "token" not in sent(Client(tmp_home))

    def test_given(self, tmp_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A token that is given counts, whatever the environment says; it stands by itself."""
        monkeypatch.setenv("CORTEX_TOKEN", "VAJRA.x")
        found = sent(Client(tmp_home, token="AZOTH.x"))

        assert ("AZOTH.x", {"query": "x"}) == (found["token"], found["params"])

    @pytest.mark.parametrize("token", ["VAJRA.x", ""])
    def test_environment(self, tmp_home: Path, monkeypatch: pytest.MonkeyPatch, token: str) -> None:
        """The environment's token is sent, also an empty one: that must not make an owner."""
        monkeypatch.setenv("CORTEX_TOKEN", token)

        assert token == sent(Client(tmp_home))["token"]


class TestWithoutDaemon:
    @pytest.mark.parametrize("token", ["VAJRA.x", ""])
    @pytest.mark.parametrize("words", [name.split() for name in sorted(entry.OWNERS)])
    def test_owners(
        self,
        tmp_home: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        words: list[str],
        token: str,
    ) -> None:
        """What would read or write the home without a daemon does not for whoever has a token."""
        monkeypatch.setenv("CORTEX_TOKEN", token)

        assert 77 == entry.main([*words, "--home", str(tmp_home)])
        assert "only the owner" in capsys.readouterr().err
        assert [] == list(tmp_home.iterdir())
