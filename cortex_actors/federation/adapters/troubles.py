"""What an MCP server and a PostgreSQL answer, and what their failures mean for a question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex_actors.errors import StoreDown, StoreTimeout, StoreUnusable

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What a tool has answered.

    Attributes:
        document: its structured answer; None where it gave none.
        texts: its texts, in order; pictures and the like are left out.

    """

    document: object
    texts: tuple[str, ...] = ()


class UnusableAnswer(StoreDown):
    """A store gave no usable answer; `said` is its own words, for the owner's eyes only."""

    def __init__(self, text: str, said: str = "") -> None:
        """Say what happened."""
        super().__init__(text)
        self.said = " ".join(said.split())[:200]


class Unknown(UnusableAnswer, StoreUnusable):
    """A store cannot be asked like this: a name, a right or a password has to be changed."""


class SessionEnded(UnusableAnswer):
    """A session or connection has ended, or was never made: another one may do."""


class Odd(UnusableAnswer):
    """A value is not what it should be: a vector of another length."""


def explain_failure(error: BaseException | None, *, is_program: bool) -> StoreDown:
    """Return why no session came about; of a group of errors the others follow from the first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, StoreDown):
        return error
    if isinstance(error, TimeoutError):
        return StoreTimeout("opened no session in time")
    if is_program and isinstance(error, OSError | ValueError):
        reason = getattr(error, "strerror", None) or type(error).__name__
        return Unknown(f"its program cannot be started ({reason}); see options.command")
    what = "its program ended" if is_program else "does not speak MCP, or not with us"
    return UnusableAnswer(f"{what} ({type(error).__name__})", str(error))


@dataclass(frozen=True, slots=True)
class Layout:
    """What a table turned out to be.

    Attributes:
        type: the type of its vectors, quoted, with its schema.
        schema: that schema, quoted: the operators are there as well.
        dimension: how many numbers they have; None where the column does not say.

    """

    type: str
    schema: str
    dimension: int | None


#: Values that do not fit, and connections that end, by the beginnings of their numbers.
_ODD, _GONE = "22", ("08", "57P")


#: What its numbers (SQLSTATE, by their beginning) say that a person has to repair.
_STATES: Mapping[str, str] = {
    "28": "does not let us in: see options.user and the token",
    "3D": "has no such database: see the path of its address",
    "42501": "does not let this user read the table",
    "25006": "its table is a view that writes, which it may not",
    "42": "cannot be asked like this: see options.table, its columns and options.where",
}


#: What libpq itself says that a person has to repair, where no server has given a number.
_MENDS: Mapping[str, str] = {
    "does not support SSL": "has no TLS, and nothing is sent to it without; see options.sslmode",
    "certificate": "its certificate is not believed; see options.sslrootcert",
    "password authentication failed": _STATES["28"],
    "pg_hba.conf": _STATES["28"],
    "does not exist": "has no such database or user: see its address and options.user",
    "no password supplied": "wants a password, and the store has no token",
    "authentication method requirement": "wants the password in the clear, and is not given it",
}


#: The same for what may be better in a moment.
_UNREACHED: Mapping[str, str] = {
    "Connection refused": "refused the connection: nothing listens at its address",
    "No such file or directory": "refused the connection: nothing listens at its socket",
    "timeout expired": "cannot be reached",
}


def explain_state(state: str, words: str) -> StoreDown:
    """Return what an error means; `state` is its SQLSTATE, empty where no server gave one."""
    # The query was ended, by its time or by a person.
    if state == "57014":
        return StoreTimeout("timeout: the database has ended the query")
    if state.startswith(_ODD):
        return Odd(f"cannot compare its vectors with ours ({state})", words)
    for beginning, told in _STATES.items():
        if state.startswith(beginning):
            return Unknown(f"{told} ({state})", words)
    if state and not state.startswith(_GONE):
        return UnusableAnswer(f"failed ({state})", words)
    for part, told in _MENDS.items():
        if part in words:
            return Unknown(told, words)
    for part, told in _UNREACHED.items():
        if part in words:
            return SessionEnded(told, words)
    return SessionEnded(f"broke off the connection{f' ({state})' if state else ''}", words)
