"""The verbs about embedding models: which one answers, and the way to another one."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cortex_actors.api import status
from cortex_actors.api.registry import SOON, Call, operation
from cortex_actors.doctor.models import list_models
from cortex_actors.embedding.cache import Cache
from cortex_actors.embedding.factory import Doing, is_compiled, report, source_of
from cortex_actors.embedding.migrator import Migrator
from cortex_actors.embedding.pool import Pool
from cortex_actors.errors import CortexError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.embedding.factory import Info

#: What is said of a compiled model that was lost, while it is compiled.
_AGAIN = "it is being made again"


@operation("model.show", http="GET /model")
async def model(call: Call) -> dict[str, Any]:
    """Say which model embeds, whether it is compiled and how good that is, and what is under way.

    Its files are hashed for that, so a damaged one is noticed.
    """
    moving = await migration(call)
    found = await _look(call, moving["active"])
    return {**_in_hand(found, moving), "migration": moving}


@operation("model.migrate", http="POST /model/migrate")
async def migrate(call: Call, to: str, provider: str | None = None) -> dict[str, Any]:
    """Embed everything with another model, which answers once that is done.

    Returns the model that is coming; asked again for the same one, it is the same migration.
    Raises `ModelMissing` naming the mend, `Refused` for the model that answers already and
    while another migration is under way.
    """
    coming = await call.actors.migrator.within(None).ask(Migrator.migrate, to, provider)
    return {"coming": asdict(coming)}


@operation("model.migration", http="GET /model/migration")
async def migration(call: Call) -> dict[str, Any]:
    """Say which model answers, which one is coming and how far it is, and which are kept."""
    info = await call.actors.migrator.within(SOON).ask(Migrator.describe)
    return {**_shape(info), **await call.records.read(list_models)}


@operation("model.cancel", http="POST /model/cancel")
async def cancel_migration(call: Call) -> dict[str, Any]:
    """End the migration that is under way; the model before it goes on answering.

    The vectors that were made are kept for some days: begun again, it goes on from there. Raises
    `NotFound`.
    """
    return {"cancelled": asdict(await call.actors.migrator.ask(Migrator.cancel))}


@operation("model.prune", http="POST /model/prune")
async def prune_vectors(call: Call) -> dict[str, Any]:
    """Delete the vectors of models that neither answer nor come.

    Returns how many of each.
    """
    return {"forgotten": await call.actors.migrator.within(None).ask(Migrator.prune)}


@operation("model.prepare", http="POST /model/prepare")
async def prepare_model(call: Call) -> dict[str, Any]:
    """Try once more to compile the model that answers, if that failed."""
    await call.actors.migrator.ask(Migrator.prepare)
    return await migration(call)


async def moving_state(call: Call) -> dict[str, Any]:
    """Return what `status` says of all this."""
    info = await call.actors.migrator.within(SOON).ask(Migrator.describe)
    return {**_shape(info), "reasons": reasons(info)}


async def _look(call: Call, active: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return how the model that answers is, and its compiled form.

    `active` is None in a home whose ledger knows no model yet.
    """
    wanted = call.settings().embedding
    known = active or {"model_id": call.model(), "provider": wanted.provider}
    found = await asyncio.to_thread(
        report,
        call.home.models,
        known["model_id"],
        provider=known["provider"],
        compiles=wanted.compile,
    )
    return {**found, "embedder": await status.guarded(embedder(call))}


async def embedder(call: Call) -> dict[str, Any]:
    """Return how the embedder is, and the work of its pool."""
    found = asdict(await call.actors.cache.within(SOON).ask(Cache.describe))
    pool: dict[str, Any] = {}
    with suppress(CortexError):  # it is being started again: the rest is worth telling
        pool = asdict(await call.actors.pool.within(SOON).ask(Pool.describe))
    return {"id": found.pop("model_id"), **found, "state": str(found["state"]), "pool": pool}


def meanwhile(model: Mapping[str, Any], moving: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return how an embedder is while models are made.

    One whose compiled form is just being made again needs nothing of anybody.
    """
    if not _is_remade(str(model.get("id", "")), moving) or model.get("state") != "missing":
        return model
    return {**model, "reason": f"the compiled model {model['id']} is lost; {_AGAIN}"}


def reasons(info: Info) -> list[str]:
    """Return why the daemon is degraded, as far as models go; nothing when all is well."""
    found = []
    if info.state is Doing.WAITING:
        found.append(f"migration: {info.reason}")
    elif info.reason:
        found.append(f"model: {info.reason}")
    if info.differs:
        found.append(f"model: {info.differs}")
    return found


def _in_hand(found: Mapping[str, Any], moving: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what is known of the model that answers; what is being made again says so."""
    model = str(found.get("id", ""))
    if not _is_remade(model, moving):
        return found
    shown = dict(found)
    if found.get("embedder"):
        shown["embedder"] = meanwhile({"id": model, **found["embedder"]}, moving)
    if model in found.get("damaged", {}):
        shown["damaged"] = {**found["damaged"], model: _AGAIN}
        shown["why"] = _AGAIN
    return shown


def _is_remade(model: str, moving: Mapping[str, Any]) -> bool:
    """Say whether that compiled model is being made again."""
    making = moving.get("making") or {}
    return is_compiled(model) and making.get("source") == source_of(model)


def _shape(info: Info) -> Mapping[str, Any]:
    """Return what is known as a client gets it."""
    shown = asdict(info)
    left = None if info.left_s is None else round(info.left_s, 1)
    return {**shown, "state": str(info.state), "rate": round(info.rate, 1), "left_s": left}
