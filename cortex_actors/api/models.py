"""The verbs about embedding models: which one answers, and the way to another one."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol

from cortex_actors.embedding.factory import Doing, is_compiled, source_of
from cortex_actors.storage import models

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from cortex_actors.embedding.factory import Info
    from cortex_actors.storage.ledger.actor import Connection, Records
    from cortex_actors.storage.models import Chosen

#: What is said of a compiled model that was lost, while it is compiled.
_AGAIN = "it is being made again"


class Look(Protocol):
    """Finds out how the model that answers is."""

    def __call__(self, active: Mapping[str, Any] | None) -> Awaitable[Mapping[str, Any]]:
        """Return that; None is a home whose ledger knows no model yet."""


class MigratorPort(Protocol):
    """What the verbs ask of the migrator."""

    def describe(self) -> Awaitable[Info]:
        """Return which models there are; answered soon or not at all."""

    def migrate(self, to: str, provider: str | None = None) -> Awaitable[Chosen]:
        """Begin a migration."""

    def cancel(self) -> Awaitable[Chosen]:
        """End the migration that is under way."""

    def prune(self) -> Awaitable[dict[str, int]]:
        """Forget the vectors of models that are not in use."""

    def prepare(self) -> Awaitable[None]:
        """Try a compile that failed once more."""


class ModelVerbs:
    """Part of the front desk."""

    def __init__(self, migrator: MigratorPort, records: Records, look: Look) -> None:
        """Remember whom to ask; `look` finds out how the model that answers is."""
        self._migrator = migrator
        self._rows = records
        self._look = look

    async def model(self) -> dict[str, Any]:
        """Return the model that answers, its compiled form or why it has none, what is under way.

        Its files are hashed for that, so a damaged one is noticed.
        """
        moving = await self.migration()
        found = await self._look(moving["active"])
        return {**_in_hand(found, moving), "migration": moving}

    async def migrate(self, to: str, provider: str | None = None) -> dict[str, Any]:
        """Begin to embed everything with another model, which answers once that is done.

        Returns the model that is coming; asked again for the same one, it is the same migration.
        Raises `ModelMissing` naming the mend, `Refused` for the model that answers already and
        while another migration is under way.
        """
        return {"coming": asdict(await self._migrator.migrate(to, provider))}

    async def migration(self) -> dict[str, Any]:
        """Return which model answers, which one is coming and how far it is, and which are kept."""
        info = await self._migrator.describe()
        return {**_shape(info), **await self._rows.read(_written)}

    async def cancel_migration(self) -> dict[str, Any]:
        """End the migration that is under way; the model before goes on. Raises `NotFound`.

        The vectors that were made are kept for some days: begun again, it goes on from there.
        """
        return {"cancelled": asdict(await self._migrator.cancel())}

    async def prune_vectors(self) -> dict[str, Any]:
        """Delete the vectors of models that neither answer nor come; return how many of each."""
        return {"forgotten": await self._migrator.prune()}

    async def prepare_model(self) -> dict[str, Any]:
        """Try once more to compile the model that answers, if that failed."""
        await self._migrator.prepare()
        return await self.migration()

    async def _moving(self) -> dict[str, Any]:
        """Return what `status` says of all this."""
        info = await self._migrator.describe()
        return {**_shape(info), "reasons": reasons(info)}


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


def _written(connection: Connection) -> dict[str, Any]:
    """Return the models that the ledger knows, which may be a step ahead of the migrator."""
    active, coming = models.active(connection), models.coming(connection)
    return {
        "active": None if active is None else asdict(active),
        "coming": None if coming is None else asdict(coming),
        "retired": [asdict(each) for each in models.retired(connection)],
    }


def _shape(info: Info) -> Mapping[str, Any]:
    """Return what is known as a client gets it."""
    shown = asdict(info)
    left = None if info.left_s is None else round(info.left_s, 1)
    return {**shown, "state": str(info.state), "rate": round(info.rate, 1), "left_s": left}
