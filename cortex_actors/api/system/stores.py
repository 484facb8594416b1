"""The verbs about the stores that a recall asks: which there are, how they do, what each counts.

All of them are the owner's. No answer holds a token: where one lies is all that is ever told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cortex_actors.api.registry import Call, operation
from cortex_actors.errors import BadInput
from cortex_actors.federation.roster import Roster
from cortex_actors.federation.store import Auth, StoreSpec

if TYPE_CHECKING:
    from cortex_actors.federation.roster import Work


@operation("stores.list", http="GET /stores")
async def stores(call: Call) -> dict[str, Any]:
    """List the stores that a recall asks, what is known here first.

    The settings of the fan over them are part of the answer.
    `status` of a store is `active`, `disabled`, or `skipped: ` and why it cannot be asked;
    `trouble` is what a person has to mend.
    """
    return dict(await call.actors.roster.ask(Roster.listed))


@operation("stores.add", http="POST /stores")
async def add_store(
    call: Call,
    name: str,
    type: str,
    url: str,
    *,
    weight: float = 1.0,
    floor: float = 0.0,
    token: str | None = None,
    token_env: str | None = None,
    token_keyring: str | None = None,
    options: dict[str, Any] | None = None,
    enabled: bool = True,
) -> dict[str, Any]:
    """Ask a store in every recall, from now on and without a restart.

    Nothing is sent to it yet; `resolves` is where its address leads. It is kept in the home's
    runtime-stores.json, its token in the keyring of the operating system where there is one, and
    the token is never shown again. Raises `BadInput` for what is no store,
    `Refused` for a name that is taken, `StoreUnusable` for one that could not be asked.
    """
    spec = StoreSpec(
        name.strip(),
        type.strip(),
        url.strip().rstrip("/"),
        weight=weight,
        floor=floor,
        enabled=enabled,
        options=dict(options or {}),
        managed=True,
        auth=Auth(token or "", token_keyring or "", token_env or ""),
    )
    return await _changed(call, lambda stores: stores.add(spec))


@operation("stores.remove", http="POST /stores/{name}/remove")
async def remove_store(call: Call, name: str) -> dict[str, Any]:
    """Remove a store, and forget its token; a store of cortex.toml is removed there, or disabled.

    Of two stores of one name, that of cortex.toml stays, and the other one, which is not asked
    anyhow, goes: `shadowed`
    says so. Raises `NotFound`, and `Refused` for a store that is in the settings alone.
    """
    return await _changed(call, lambda stores: stores.remove(name))


@operation("stores.enable", http="POST /stores/{name}/enable")
async def enable_store(call: Call, name: str) -> dict[str, Any]:
    """Ask a store again from now on.

    `lasts` is `kept`, or `restart` for a store of the settings. Raises `NotFound`, and
    `StoreUnusable` for one that cannot be asked; it stays as it was.
    """
    return await _changed(call, lambda stores: stores.enable(name, on=True))


@operation("stores.disable", http="POST /stores/{name}/disable")
async def disable_store(call: Call, name: str) -> dict[str, Any]:
    """Do not ask a store until it is enabled again.

    Answers and raises as `enable_store`.
    """
    return await _changed(call, lambda stores: stores.enable(name, on=False))


@operation("stores.tune", http="POST /stores/{name}/tune")
async def tune_store(
    call: Call, name: str, weight: float | None = None, floor: float | None = None
) -> dict[str, Any]:
    """Let a store's hits count more or less (weight), or let only its better hits through (floor).

    Raises `BadInput`, `NotFound`.
    """
    if weight is None and floor is None:
        raise BadInput(f"cannot tune {name}: nothing was said; give a weight, a floor, or both")
    return await _changed(call, lambda stores: stores.tune(name, weight=weight, floor=floor))


@operation("stores.configure", http="POST /federation")
async def configure(call: Call, changes: dict[str, Any]) -> dict[str, Any]:
    """Change how stores are asked and fused, all of it at once.

    What may be changed is what `knobs` lists, and `stores` (`name` with `weight` or `floor`).
    Everything is checked first: with `BadInput` or `NotFound` nothing has changed, and no
    question sees half of it. What is of the settings lasts until the daemon restarts.
    """
    return await _changed(call, lambda stores: stores.configure(changes))


@operation("stores.knobs", http="GET /federation")
async def knobs(call: Call) -> dict[str, Any]:
    """Show how stores are asked and fused: now, after a restart, and by default."""
    return dict(await call.actors.roster.ask(Roster.knobs))


@operation("stores.health", http="GET /stores/health")
async def store_health(call: Call) -> dict[str, Any]:
    """Show how each store has been answering since the daemon started; times in milliseconds."""
    return dict(await call.actors.roster.ask(Roster.told))


@operation("stores.ping", http="GET /stores/ping")
async def ping_store(call: Call, name: str | None = None) -> dict[str, Any]:
    """Ask stores whether they are there, and what they are: one, or all that are enabled.

    One that is disabled is asked if it is named. Raises `NotFound`.
    """
    return dict(await call.actors.roster.within(None).ask(Roster.ping, name))


async def _changed(call: Call, work: Work) -> dict[str, Any]:
    """Have the roster do a change, however long that takes; return its answer."""
    return dict(await call.actors.roster.within(None).ask(Roster.change, work))
