"""How a command is given a store's token: never among its words, which every process can read."""

from __future__ import annotations

import getpass
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cortex_actors.errors import BadInput, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Characters that are read of a token; the daemon says what one may be.
_LONGEST = 16_384

StdinOption = Annotated[
    bool,
    typer.Option(
        "--token-stdin", help="Read its token from standard input; a terminal asks, unseen."
    ),
]
EnvOption = Annotated[
    str | None,
    typer.Option("--token-env", metavar="NAME", help="A variable of the daemon's that holds it."),
]
KeyringOption = Annotated[
    str | None,
    typer.Option(
        "--token-keyring",
        metavar="SERVICE/USER",
        help="Its place in the keyring of the operating system.",
    ),
]


def given(name: str, *, stdin: bool, env: str | None, keyring: str | None) -> Mapping[str, Any]:
    """Return what the daemon is told about a store's token; nothing for a store without one.

    Raises `UsageError` for two places, and `BadInput` for a token that is not there.
    """
    if sum((stdin, env is not None, keyring is not None)) > 1:
        raise UsageError("give one of --token-stdin, --token-env and --token-keyring")
    if env is not None:
        return {"token_env": env}
    if keyring is not None:
        return {"token_keyring": keyring}
    return {"token": _read(name)} if stdin else {}


def _read(name: str) -> str:
    """Return the token that standard input has, which a terminal does not show."""
    if sys.stdin.isatty():
        found = getpass.getpass(f"Token of {name}: ")
    else:
        found = sys.stdin.readline(_LONGEST)
    token = found.strip()
    if not token:
        message = "standard input holds no token"
        raise BadInput(f"cannot add {name}: {message}; write it there, as one line")
    return token
