"""What an import would do, as far as that can be seen where no daemon runs.

The same checks as the daemon's, over the same files. No name is looked up, and no token: whether a
name leads somewhere and a token lies where the file says is the daemon's to find out.
"""

from __future__ import annotations

import asyncio
import ipaddress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cortex_actors.clock import SystemClock
from cortex_actors.federation.binding import Binder
from cortex_actors.federation.books import Books
from cortex_actors.federation.joining import Joining
from cortex_actors.federation.overlay import Overlay
from cortex_actors.federation.register import Register
from cortex_actors.federation.spec import Auth
from cortex_actors.federation.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cortex_actors.federation.callosumfile import Imported
    from cortex_actors.federation.spec import StoreSpec
    from cortex_actors.federationsections import FederationSettings, TlsSettings

#: Stands for a token that lies elsewhere: the way to an address is judged by whether there is one.
_ELSEWHERE = Auth(token="elsewhere")  # noqa: S106 - it is nobody's


def foreseen(
    said: Imported,
    overlay: Path,
    *,
    settings: FederationSettings,
    tls: TlsSettings,
    may_replace: bool,
) -> dict[str, Any]:
    """Return what `Joining.foreseen` can tell without a daemon; blocks for a small file.

    Raises `BadInput` for a setting of the fan that none may be.
    """
    register = Register()
    register.adopt(settings, tls)
    vault = Vault({}, ring=lambda: None)
    binder = Binder(settings, tls, clock=SystemClock(), vault=vault, resolve=_literal)
    joining = Joining(Books(register, Overlay(overlay), binder))
    given = replace(said, stores=tuple(_plain(each) for each in said.stores))
    found = asyncio.run(joining.foreseen(given, may_replace=may_replace))
    return {**found, "warnings": []}


def _plain(spec: StoreSpec) -> StoreSpec:
    """Return a store whose token nobody has to look for."""
    return replace(spec, auth=_ELSEWHERE) if spec.auth and not spec.auth.token else spec


def _literal(host: str, _port: int) -> Sequence[str]:
    """Return the IP address that a host is; raises `OSError` for a name: nobody is asked."""
    if host == "localhost":
        return ["127.0.0.1"]
    try:
        return [str(ipaddress.ip_address(host))]
    except ValueError:
        raise OSError("it is not looked up") from None
