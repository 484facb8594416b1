"""What people wish of the migrator: another model, an end of that, and old vectors gone."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors.clock import DAY
from cortex_actors.embedding.choose import PROVIDERS
from cortex_actors.embedding.models import GIVE, PACKAGED, PUBLISHER, locate
from cortex_actors.embedding.provider import State
from cortex_actors.embedding.seat import is_compiled, source_of
from cortex_actors.errors import ModelMissing, NotFound, Refused, UsageError
from cortex_actors.storage import models

if TYPE_CHECKING:
    from cortex_actors.clock import Clock
    from cortex_actors.embedding.provider import Provider
    from cortex_actors.embedding.seat import Seat
    from cortex_actors.storage.ledger.actor import Records
    from cortex_actors.storage.models import Chosen

#: Days for which the vectors of a model that was replaced are kept, so that going back is quick.
KEPT_DAYS = 7

#: What the ids begin with of models that are no folders.
_ELSEWHERE = ("openai:", "hashing-v1-")

#: Vectors that one unit of work forgets, and the seconds between two: others wait for that thread.
FORGOTTEN, PAUSE = 500, 0.05


class Wishes:
    """Writes them down as rows of the ledger; the migrator does the work."""

    def __init__(self, records: Records, seat: Seat, clock: Clock, *, compiles: bool) -> None:
        """Know the ledger, and the model that answers."""
        self._records = records
        self._seat = seat
        self._clock = clock
        self._compiles = compiles

    async def begin(self, to: str, kind: str | None) -> Chosen:
        """Write down which model is to come."""
        target = await self._records.read(partial(models.find, model_id=to))
        if target is None or kind is not None:
            target = await self._candidate(to, kind)
        elif (found := await asyncio.to_thread(self._seat.make, target)).state is State.MISSING:
            raise ModelMissing(f"cannot migrate to {to}: {found.reason}")
        self._refuse_own_source(target)
        await self._records.write(partial(models.begin, model=target, at=self._clock.now()))
        return target

    async def _candidate(self, name: str, kind: str | None) -> Chosen:
        """Return the model of a name; raises `ModelMissing`."""
        if kind not in (None, *PROVIDERS):
            raise UsageError(
                f"cannot migrate to {name}: there is no provider {kind!r}; give one of: "
                f"{', '.join(PROVIDERS)}"
            )
        if not name.strip():
            raise ModelMissing(f"cannot migrate to {name!r}: it names no model; {GIVE}")
        provider = await asyncio.to_thread(self._seat.candidate, name, kind)
        if provider.state is State.MISSING:
            raise ModelMissing(f"cannot migrate to {name}: {_why(name, provider, kind)}")
        if provider.dimension == 0:
            await self._measured(provider)
        return self._seat.row(provider, name, kind)

    async def _measured(self, provider: Provider) -> None:
        """Have a provider find out how long its vectors are."""
        try:
            await provider.start()
            await provider.settled()
            await provider.embed(["how long is a vector?"], urgent=True)
        finally:
            await provider.close()

    def _refuse_own_source(self, target: Chosen) -> None:
        """Raise `Refused` for the float form of the compiled model that answers."""
        active = self._seat.provider.model_id
        if self._compiles and is_compiled(active) and source_of(active) == target.model_id:
            raise Refused(
                f"cannot migrate to {target.model_id}: it answers already, in its compiled form "
                f"{active}; to embed with the float form, set embedding.compile = false"
            )

    async def cancel(self) -> Chosen:
        """Retire the coming model; whatever works on it finds it gone."""
        found = await self._records.write(partial(models.cancel, at=self._clock.now()))
        if found is None:
            raise NotFound("cannot cancel: no migration is under way")
        return found

    async def prune(self) -> dict[str, int]:
        """Forget every model that is not in use, in small units."""
        found = await self._records.read(lambda c: [each.model_id for each in models.retired(c)])
        found += await self._records.read(models.strangers)
        return {each: await self._forget(each) for each in found}

    async def _forget(self, model_id: str) -> int:
        """Delete a model's vectors and return how many there were."""
        unit, total = partial(models.forget, model_id=model_id, limit=FORGOTTEN), 0
        while gone := await self._records.write(unit):
            total += gone
            await self._clock.sleep(PAUSE)
        return total

    async def forget_old(self) -> None:
        """Forget the models that were replaced some days ago."""
        before = self._clock.now() - KEPT_DAYS * DAY
        for each in await self._records.read(models.retired):
            if each.since < before:
                await self._forget(each.model_id)


def _why(name: str, provider: Provider, kind: str | None) -> str:
    """Return why a model cannot come, and what can; the settings have no say in it."""
    if kind == "hashing" or provider.model_id.startswith(_ELSEWHERE):
        return provider.reason
    if name.removeprefix(PUBLISHER) not in PACKAGED and not Path(name).expanduser().is_dir():
        return (
            f"there is no such folder, and no installed package brings a model so named; {GIVE}; "
            "for the model of an endpoint (embedding.base_url) say --provider openai"
        )
    try:
        locate(name, mend=GIVE)
    except ModelMissing as error:
        return str(error)
    return provider.reason
