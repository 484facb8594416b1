"""Tokens: the files by which one agent is told from another."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.agent import OWNER, Caller
from cortex_actors.errors import BadInput, BadToken, HomeUnwritable
from cortex_actors.process.tokens import RANDOM_BYTES, Tokens

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    """Give a home's tokens; there are none yet."""
    return Tokens(tmp_path / "tokens")


def mode(path: Path) -> int:
    """Return what who may do with a file."""
    return stat.S_IMODE(path.lstat().st_mode)


class TestMake:
    def test_private(self, tokens: Tokens) -> None:
        """A token is a file that only its owner may read, in a folder only they may look into."""
        before = os.umask(0)
        try:
            token = tokens.make("azoth")
        finally:
            os.umask(before)

        assert [tokens.folder / "AZOTH"] == list(tokens.folder.iterdir())
        assert (0o700, 0o600) == (mode(tokens.folder), mode(tokens.folder / "AZOTH"))
        assert f"{token}\n" == (tokens.folder / "AZOTH").read_text()

    def test_random(self, tokens: Tokens) -> None:
        """No two tokens are alike, and each has all the chance that was asked for."""
        made = {tokens.make("AZOTH").partition(".")[2] for _ in range(20)}

        assert 20 == len(made)
        assert all(len(each) >= RANDOM_BYTES * 4 // 3 for each in made)

    def test_anew(self, tokens: Tokens) -> None:
        """A new token is the only one that counts."""
        old, new = tokens.make("AZOTH"), tokens.make("AZOTH")

        assert Caller("AZOTH") == tokens.find_caller(new)
        with pytest.raises(BadToken):
            tokens.find_caller(old)

    def test_not_ours(self, tokens: Tokens, tmp_path: Path) -> None:
        """No token is made where others could read it, or behind a link."""
        tokens.folder.mkdir(mode=0o755)
        tokens.folder.chmod(0o755)
        with pytest.raises(HomeUnwritable, match="chmod 700"):
            tokens.make("AZOTH")
        assert [] == list(tokens.folder.iterdir())

        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir(mode=0o700)
        tokens.folder.rmdir()
        tokens.folder.symlink_to(elsewhere)
        with pytest.raises(HomeUnwritable):
            tokens.make("AZOTH")
        assert [] == list(elsewhere.iterdir())

    def test_link_is_replaced(self, tokens: Tokens, tmp_path: Path) -> None:
        """A link in the place of a token is replaced, and what it leads to is left alone."""
        tokens.make("VAJRA")
        precious = tmp_path / "precious"
        precious.write_text("mine")
        (tokens.folder / "AZOTH").symlink_to(precious)

        assert Caller("AZOTH") == tokens.find_caller(tokens.make("AZOTH"))
        assert "mine" == precious.read_text()

    @pytest.mark.parametrize("agent", ["../AZOTH", "", "a/b", "A" * 65])
    def test_hostile(self, tokens: Tokens, agent: str) -> None:
        """No name of an agent leads out of the folder."""
        with pytest.raises(BadInput):
            tokens.make(agent)
        with pytest.raises(BadInput):
            tokens.revoke(agent)
        assert not tokens.folder.exists()


class TestCaller:
    def test_owner(self, tokens: Tokens) -> None:
        """Who shows no token is the owner, whoever has one."""
        tokens.make("AZOTH")

        assert OWNER == tokens.find_caller(None)

    def test_each(self, tokens: Tokens) -> None:
        """Each token is its agent's."""
        made = {agent: tokens.make(agent) for agent in ("AZOTH", "VAJRA", "A-1_b")}

        assert [Caller("AZOTH"), Caller("VAJRA"), Caller("A-1_B")] == [
            tokens.find_caller(token) for token in made.values()
        ]
        assert frozenset({"AZOTH", "VAJRA", "A-1_B"}) == tokens.list_agents()

    def test_wrong(self, tokens: Tokens) -> None:
        """A token that is not exactly an agent's is nobody's, and never the owner's."""
        token, other = tokens.make("AZOTH"), tokens.make("VAJRA")
        name, _, secret = token.partition(".")
        wrong = [
            "",
            ".",
            "AZOTH",
            "AZOTH.",
            secret,
            token[:-1],
            f"{token}x",
            f"{token}\n",
            f" {token}",
            token.lower(),
            f"azoth.{secret}",
            f"VAJRA.{secret}",
            f"NOBODY.{secret}",
            f"../tokens/AZOTH.{secret}",
            f"{name}.{other.partition('.')[2]}",
            "\udcff",
            f"AZOTH.{secret}\udcff",
            "A" * 100_000,
        ]
        for each in wrong:
            with pytest.raises(BadToken) as refused:
                tokens.find_caller(each)
            assert secret not in str(refused.value)

    def test_revoked(self, tokens: Tokens) -> None:
        """Once its file is gone a token is nobody's, whoever removed it."""
        first, second = tokens.make("AZOTH"), tokens.make("VAJRA")
        assert tokens.revoke("azoth")
        (tokens.folder / "VAJRA").unlink()

        for token in (first, second):
            with pytest.raises(BadToken):
                tokens.find_caller(token)
        assert not tokens.revoke("AZOTH")
        assert frozenset() == tokens.list_agents()

    def test_changed_in_place(self, tokens: Tokens) -> None:
        """What stands in the file counts, also when somebody wrote it by hand."""
        old = tokens.make("AZOTH")
        (tokens.folder / "AZOTH").write_text("AZOTH.by-hand\n")

        assert Caller("AZOTH") == tokens.find_caller("AZOTH.by-hand")
        with pytest.raises(BadToken):
            tokens.find_caller(old)

    def test_exposed(self, tokens: Tokens) -> None:
        """A file, or a folder, that others may read holds no token."""
        token = tokens.make("AZOTH")
        for path, right in ((tokens.folder / "AZOTH", 0o600), (tokens.folder, 0o700)):
            for wrong in (right | 0o040, right | 0o004, right | 0o020):
                path.chmod(wrong)
                with pytest.raises(BadToken):
                    tokens.find_caller(token)
                assert frozenset() == tokens.list_agents()
            path.chmod(right)
        assert Caller("AZOTH") == tokens.find_caller(token)

    def test_no_file(self, tokens: Tokens, tmp_path: Path) -> None:
        """A link, a folder, a pipe, an empty file and one of another agent hold no token."""
        token = tokens.make("AZOTH")
        kept = (tokens.folder / "AZOTH").rename(tmp_path / "kept")
        (tokens.folder / "AZOTH").symlink_to(kept)
        with pytest.raises(BadToken):
            tokens.find_caller(token)

        (tokens.folder / "VAJRA").mkdir(mode=0o700)
        os.mkfifo(tokens.folder / "NOURI", 0o600)
        os.close(os.open(tokens.folder / "KETHER", os.O_CREAT | os.O_WRONLY, 0o600))
        os.link(kept, tokens.folder / "CLAUDE")
        for agent in ("VAJRA", "NOURI", "KETHER", "CLAUDE"):
            for each in (token, f"{agent}.", agent, token.replace("AZOTH", agent)):
                with pytest.raises(BadToken):
                    tokens.find_caller(each)
        assert frozenset() == tokens.list_agents()

    def test_of_another_user(self, tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file that belongs to another user holds no token."""
        token, mine = tokens.make("AZOTH"), os.getuid()
        monkeypatch.setattr("os.getuid", lambda: mine + 1)

        with pytest.raises(BadToken):
            tokens.find_caller(token)
