"""Tokens: by which the daemon knows one agent from another.

An agent's token is a file of the home, `tokens/<AGENT>`, that only the daemon's user may read;
`tokens/owner` is the owner's, for doors that cannot see who connects. A token begins with the name
of its file, so one small file is read to check it, each time: removing the file, or making a
new token, revokes the old one with the next request. Only the digests of two tokens are
compared, in constant time, and no text of ours, error or log, ever holds one.

A file that is a link, is another user's, or may be read by others counts as none. A crash while a
token is made leaves the earlier one, or none, and a hidden file that is never read.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from hashlib import sha256
from hmac import compare_digest
from typing import TYPE_CHECKING

from cortex_actors.domain.agent import OWNER, OWNER_NAME, Caller, read_agent_id
from cortex_actors.errors import BadInput, BadToken, HomeUnwritable
from cortex_actors.home import replace_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

#: Random bytes of a token: what is not guessed even where attempts are not counted.
RANDOM_BYTES = 32

#: Bytes that are read of a file: no token has more.
_MOST = 256

#: What separates the agent from the random part; no id holds it.
_DOT = "."

#: Modes of the folder and of a file in it; what others may do with either.
_FOLDER, _OTHERS = 0o700, 0o077


class Tokens:
    """The tokens of one home. Every method blocks for a few reads or writes of small files."""

    def __init__(self, folder: Path) -> None:
        """Remember the folder; it is made with the first token."""
        self.folder = folder

    def find_caller(self, token: str | None) -> Caller:
        """Return whose token that is; the owner where none was shown.

        Raises `BadToken` for every other one: a wrong token never makes anybody the owner.
        """
        if token is None:
            return OWNER
        named = token.partition(_DOT)[0]
        try:
            agent = named if named == OWNER_NAME else read_agent_id(named)
        except BadInput:
            raise _unknown() from None
        kept = self._kept(agent) if named == agent else ""
        # Compared in any case, so that an agent without a token takes as long as one with another.
        same = compare_digest(_digest(token), _digest(kept))
        if not (kept and same):
            raise _unknown()
        return OWNER if agent == OWNER_NAME else Caller(agent)

    def make(self, agent: str) -> str:
        """Return a new token of an agent; the one it had counts no more.

        Raises `BadInput`, `HomeUnwritable`.
        """
        return self._make(read_agent_id(agent))

    def ensure_owner(self) -> Path:
        """Return the file with the owner's token, which is made where none counts.

        No agent's id has a small letter, so it is no agent's. Raises `HomeUnwritable`.
        """
        if not self._kept(OWNER_NAME):
            self._make(OWNER_NAME)
        return self.folder / OWNER_NAME

    def _make(self, name: str) -> str:
        """Return a new token of an agent or the owner; raises `HomeUnwritable`."""
        token = f"{name}{_DOT}{secrets.token_urlsafe(RANDOM_BYTES)}"
        try:
            self.folder.mkdir(mode=_FOLDER, exist_ok=True)
            with self._opened():
                replace_file(self.folder / name, f"{token}\n".encode())
        except OSError as error:
            raise HomeUnwritable(
                f"cannot make a token in {self.folder}: {error.strerror or error}; it must be a "
                "folder that only you may read (chmod 700)"
            ) from error
        return token

    def revoke(self, agent: str) -> bool:
        """Let an agent's token count no more; say whether it had one. Raises `HomeUnwritable`."""
        path = self.folder / read_agent_id(agent)
        try:
            path.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            message = f"cannot remove {path}: {error.strerror or error}; remove it by hand"
            raise HomeUnwritable(message) from error
        return True

    def list_agents(self) -> frozenset[str]:
        """Return the agents that have a token which counts."""
        try:
            names = [each.name for each in self.folder.iterdir()]
        except OSError:
            return frozenset()
        return frozenset(each for each in names if _is_id(each) and self._kept(each))

    def _kept(self, agent: str) -> str:
        """Return the token in an agent's file; empty where there is none that counts."""
        try:
            with self._opened() as folder:
                file = os.open(agent, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
                try:
                    if not _is_ours(os.fstat(file), stat.S_ISREG):
                        return ""
                    found = os.read(file, _MOST).decode().strip()
                finally:
                    os.close(file)
        except (OSError, UnicodeDecodeError):
            return ""
        # A file under another's name would make one agent two.
        return found if found.partition(_DOT)[0] == agent else ""

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int]:
        """Give the folder's descriptor; raises `OSError` for one that is not ours alone."""
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if not _is_ours(os.fstat(folder), stat.S_ISDIR):
                raise PermissionError(None, "others may read it, or it is another user's")
            yield folder
        finally:
            os.close(folder)


def _is_ours(found: os.stat_result, is_kind: Callable[[int], bool]) -> bool:
    """Say whether a file is of that kind, ours, and closed to all others."""
    private = found.st_uid == os.getuid() and not found.st_mode & _OTHERS
    return private and is_kind(found.st_mode)


def _is_id(name: str) -> bool:
    """Say whether a file is called as an agent is."""
    try:
        return read_agent_id(name) == name
    except BadInput:
        return False


def _digest(token: str) -> bytes:
    """Return what is compared: equally long for every token."""
    return sha256(token.encode("utf-8", "surrogatepass")).digest()


def _unknown() -> BadToken:
    """Return the one error of every token that counts for no agent."""
    return BadToken(
        "the token that was shown does not count (wrong, revoked, or readable by others); "
        'make one with "cortex agents token AGENT", or unset CORTEX_TOKEN to ask as the owner'
    )
