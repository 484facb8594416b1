"""The verbs about the stores that a recall asks: which there are, how they do, what each counts.

All of them are the owner's. No answer holds a token: where one lies is all that is ever told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cortex_actors.api.registry import Verbs
from cortex_actors.errors import BadInput
from cortex_actors.federation.roster import Roster
from cortex_actors.federation.store import Auth, StoreSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.runtime.names import NamedActor

#: Characters that a file of stores may have: some hundred stores, described at length.
LONGEST_FILE = 1_048_576


class StoreVerbs(Verbs):
    """Part of the front desk."""

    @property
    def _roster(self) -> NamedActor[Roster]:
        """The roster for as long as it takes: a keyring or a store may be slow."""
        return self._actors.roster.within(None)

    async def stores(self) -> dict[str, Any]:
        """Return the stores, what is kept here first, and how the fan over them is set.

        `status` of a store is `active`, `disabled`, or `skipped: ` and why it cannot be asked;
        `trouble` is what a person has to mend.
        """
        return dict(await self._actors.roster.ask(Roster.listed))

    async def add_store(
        self,
        name: str,
        type: str,  # noqa: A002 - what every client calls it
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
        """Ask a store from now on; kept in the home's runtime-stores.json.

        Nothing is sent to it; `resolves` is where its address leads. A token goes into the keyring
        of the operating system where there is one. Raises `BadInput` for what is no store,
        `Refused` for a name that is taken, `StoreUnusable` for one that could not be asked.
        """
        auth = Auth(token or "", token_keyring or "", token_env or "")
        spec = StoreSpec(
            name.strip(),
            type.strip(),
            url.strip().rstrip("/"),
            weight=weight,
            floor=floor,
            enabled=enabled,
            options=dict(options or {}),
            managed=True,
            auth=auth,
        )
        return dict(await self._roster.ask(Roster.add, spec))

    async def remove_store(self, name: str) -> dict[str, Any]:
        """Ask a store no more, and forget it with the token that was kept for it.

        Of two stores of one name that of the settings stays, and the other one, which is not asked
        anyhow, goes: `shadowed` says so. Raises `NotFound`, and `Refused` for a store that is in
        the settings alone.
        """
        return dict(await self._roster.ask(Roster.remove, name))

    async def enable_store(self, name: str) -> dict[str, Any]:
        """Ask a store again.

        `lasts` is `kept`, or `restart` for a store of the settings. Raises `NotFound`, and
        `StoreUnusable` for one that cannot be asked; it stays as it was.
        """
        return dict(await self._roster.ask(Roster.enable, name, on=True))

    async def disable_store(self, name: str) -> dict[str, Any]:
        """Ask a store no more until it is enabled; as `enable_store`."""
        return dict(await self._roster.ask(Roster.enable, name, on=False))

    async def tune_store(
        self, name: str, weight: float | None = None, floor: float | None = None
    ) -> dict[str, Any]:
        """Let a store's hits count more or less (`weight`), or only the better ones (`floor`).

        Raises `BadInput`, `NotFound`.
        """
        if weight is None and floor is None:
            message = f"cannot tune {name}: nothing was said; give a weight, a floor, or both"
            raise BadInput(message)
        return dict(await self._roster.ask(Roster.tune, name, weight=weight, floor=floor))

    async def configure(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Turn what `knobs` lists, and `stores` (`name` with `weight` or `floor`), at one stroke.

        Everything is checked first: with `BadInput` or `NotFound` nothing has changed, and no
        question sees half of it. What is of the settings lasts until the daemon restarts.
        """
        return dict(await self._roster.ask(Roster.configure, changes))

    async def knobs(self) -> dict[str, Any]:
        """Return what may be turned: as it is now, as the settings say, and by default."""
        return dict(await self._actors.roster.ask(Roster.knobs))

    async def store_health(self) -> dict[str, Any]:
        """Return how each store has answered since the daemon started; times in milliseconds."""
        return dict(await self._actors.roster.ask(Roster.told))

    async def ping_store(self, name: str | None = None) -> dict[str, Any]:
        """Ask a store, or all that are enabled, whether it is there, and what it is.

        One that is disabled is asked if it is named. Raises `NotFound`.
        """
        return dict(await self._roster.ask(Roster.ping, name))

    async def import_stores(
        self,
        text: str,
        replace: bool = False,  # noqa: FBT001, FBT002 - named by every client
        dry_run: bool = False,  # noqa: FBT001, FBT002 - as above
    ) -> dict[str, Any]:
        """Take in the stores and the settings of the fan that a Callosum's YAML file describes.

        What cannot be asked here is left out and listed with why; a name that is taken as well,
        unless `replace` says that the new one counts. With `dry_run` the answer is what would come
        of it, with the `stores` that would be taken, and nothing is changed. Raises `BadInput` for
        another file.
        """
        if len(text) > LONGEST_FILE:
            message = (
                f"cannot import stores: the file has {len(text):,} characters, the limit is "
                f"{LONGEST_FILE:,}; is it the right one?"
            )
            raise BadInput(message)
        how = Roster.foresee if dry_run else Roster.take_in
        return dict(await self._roster.ask(how, text, replace=replace))


def unlisted(described: Mapping[str, Any]) -> list[str]:
    """Return why the daemon is degraded by what it knows of stores, a sentence each.

    A store that does not answer is no reason: it is another program's trouble, and said in every
    answer that it has no part in.
    """
    return [f"stores: {each}" for each in described.get("trouble", ())]
