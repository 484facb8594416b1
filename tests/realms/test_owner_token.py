"""The owner's own token: for doors that cannot see who connects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.agent import OWNER
from cortex_actors.errors import BadInput, BadToken, HomeUnwritable
from cortex_actors.process.tokens import Tokens

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    """Give the tokens of a new home."""
    return Tokens(tmp_path / "tokens")


class TestOwners:
    def test_made(self, tokens: Tokens) -> None:
        """It is made once, for nobody else to read, and is the owner's."""
        path = tokens.ensure_owner()
        token = path.read_text().strip()

        assert 0o600 == path.stat().st_mode & 0o777
        assert OWNER == tokens.find_caller(token)
        assert token == tokens.ensure_owner().read_text().strip()

    def test_no_agent(self, tokens: Tokens) -> None:
        """It is no agent's, and no agent's can be made in its name."""
        tokens.ensure_owner()

        assert frozenset() == tokens.list_agents()
        with pytest.raises(BadInput):
            tokens.make("owner")

    def test_wrong(self, tokens: Tokens) -> None:
        """One that only begins like it is nobody's, and so is one with no file."""
        with pytest.raises(BadToken):
            tokens.find_caller("owner.guess")
        tokens.ensure_owner()
        for guess in ("owner.guess", "owner.", "OWNER.guess", "owner"):
            with pytest.raises(BadToken):
                tokens.find_caller(guess)

    def test_open(self, tokens: Tokens) -> None:
        """One that others may read counts no more, and another one is made."""
        path = tokens.ensure_owner()
        token = path.read_text().strip()
        path.chmod(0o644)

        with pytest.raises(BadToken):
            tokens.find_caller(token)
        assert token != tokens.ensure_owner().read_text().strip()
        assert 0o600 == path.stat().st_mode & 0o777

    def test_link(self, tokens: Tokens, tmp_path: Path) -> None:
        """A folder that is somebody else's to write holds no token."""
        tokens.folder.mkdir(mode=0o777)
        tokens.folder.chmod(0o777)

        with pytest.raises(HomeUnwritable):
            tokens.ensure_owner()
        assert [] == list(tokens.folder.iterdir())
