"""Clearing a text of secrets before anything keeps it: refused, or masked where that is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.errors import Refused
from cortex_actors.rules.credentials import redact as without_secrets

if TYPE_CHECKING:
    from cortex_actors.rules.credentials import Secret


def cleared(text: str, *, what: str, redact: bool | None = False) -> str:
    """Return a text that holds no secret: as it was, or masked where `redact` is set.

    Raises `Refused` otherwise, which names the kind and the place of each secret and never the
    secret itself; `what` says whose text it is. None for `redact`: nobody can ask for it there.
    """
    found = without_secrets(text)
    if not found.secrets or redact:
        return found.text
    places = "; ".join(_place(text, each) for each in found.secrets)
    or_masked = "" if redact is None else ", or have it masked with --redact (redact=true)"
    raise Refused(f"refused to keep {what}: it holds {places}; take it out{or_masked}")


def _place(text: str, secret: Secret) -> str:
    """Return which kind of secret stands where, counted from 1."""
    before = text[: secret.start]
    line, column = before.count("\n") + 1, secret.start - (before.rfind("\n") + 1) + 1
    return f"a secret ({secret.kind}) in line {line} at character {column}"
