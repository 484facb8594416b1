"""Actors as those see them who need several of their verbs: by name, looked up at each use.

Nobody holds a ref, so a restart of the actor behind the name breaks no caller.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from cortex_actors.embedding import migrator
from cortex_actors.errors import CortexError, MailboxFull
from cortex_actors.federation import roster
from cortex_actors.judging import judge
from cortex_actors.memory import archivist, custodian, librarian, trail, village
from cortex_actors.pipeline import resolver
from cortex_actors.storage.index.vectors import Vectors

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from cortex_actors.domain.insight import Judgement, Learning
    from cortex_actors.domain.memory import Access
    from cortex_actors.judging.judge import Pair
    from cortex_actors.runtime.names import Names
    from cortex_actors.sections import JudgingSettings

T = TypeVar("T")

log = logging.getLogger("cortex.judge")

#: Seconds beyond its own patience that the judge may take to answer, and to come back.
GRACE = 5.0

#: Settings that decide what a model says, and not only whether it is asked in time.
NAMING = {"cross_encoder", "cross_encoder_labels", "cross_encoder_sure", "model", "base_url"}

#: Seconds the judge may take to say how it is.
SOON = 2.0


class Index:
    """The vectors actor as the indexer sees it: by name."""

    def __init__(self, names: Names) -> None:
        """Remember the names."""
        self.put = names.method("vectors", Vectors.put)
        self.drop = names.method("vectors", Vectors.drop)


class Roster:
    """The roster as the federation sees it: by name."""

    def __init__(self, names: Names) -> None:
        """Remember the names."""
        self.fan = names.method("roster", roster.Roster.fan)
        self.noted = names.method("roster", roster.Roster.noted)


class Stores:
    """The roster as the front desk sees it: by name; a keyring may take its time."""

    def __init__(self, names: Names, soon: float) -> None:
        """Remember the names; `soon` is how many seconds `described` may take."""
        kind = roster.Roster
        self.described = names.method("roster", kind.described, timeout=soon)
        self.knobs = names.method("roster", kind.knobs)
        self.told = names.method("roster", kind.told)
        self.listed = names.method("roster", kind.listed)
        self.add = names.method("roster", kind.add, timeout=None)
        self.remove = names.method("roster", kind.remove, timeout=None)
        self.enable = names.method("roster", kind.enable, timeout=None)
        self.tune = names.method("roster", kind.tune, timeout=None)
        self.configure = names.method("roster", kind.configure, timeout=None)
        self.ping = names.method("roster", kind.ping, timeout=None)
        self.take_in = names.method("roster", kind.take_in, timeout=None)
        self.foresee = names.method("roster", kind.foresee, timeout=None)


class Resolver:
    """The resolver as the front desk sees it: by name; a write takes as long as it takes."""

    def __init__(self, names: Names) -> None:
        """Remember the names."""
        self.resolve = names.method("resolver", resolver.Resolver.resolve, timeout=None)
        self.undo = names.method("resolver", resolver.Resolver.undo, timeout=None)


class Archivist:
    """The archivist as the front desk sees it: by name; a judge may take its time."""

    def __init__(self, names: Names) -> None:
        """Remember the names."""
        self.remember = names.method("archivist", archivist.Archivist.remember, timeout=None)
        self._look = names.notice("archivist", archivist.Archivist.look)

    def look(self) -> None:
        """Have what waits compared soon; where nobody takes that, it is compared by the clock."""
        with suppress(MailboxFull):
            self._look()


class Village:
    """The village as the front desk sees it: by name; a question may wait for a model to load."""

    def __init__(self, names: Names) -> None:
        """Remember the names."""
        self.post = names.method("village", village.Village.post)
        self.converge = names.method("village", village.Village.converge, timeout=None)


class Trail:
    """The trail as the front desk sees it: by name."""

    def __init__(self, names: Names) -> None:
        """Remember the names."""
        self.leave = names.method("trail", trail.Trail.leave)
        self.take = names.method("trail", trail.Trail.take)


class Migrator:
    """The migrator as the front desk sees it: by name; `describe` answers soon or not at all."""

    def __init__(self, names: Names, soon: float) -> None:
        """Remember the names; `soon` is how many seconds `describe` may take."""
        kind = migrator.Migrator
        self.describe = names.method("migrator", kind.describe, timeout=soon)
        self.migrate = names.method("migrator", kind.migrate, timeout=None)
        self.cancel = names.method("migrator", kind.cancel)
        self.prune = names.method("migrator", kind.prune, timeout=None)
        self.prepare = names.method("migrator", kind.prepare)


class Custodian:
    """The custodian as whoever answers sees it: told by name, never waited for, never in the way.

    What finds no room or nobody is lost, and counted: `lost` is how many accesses that were.
    """

    def __init__(self, names: Names, soon: float) -> None:
        """Remember the names; `soon` is how many seconds `describe` may take."""
        self.lost = 0
        self._accessed = names.notice("custodian", custodian.Custodian.accessed)
        self.flush = names.method("custodian", custodian.Custodian.flush)
        self.describe = names.method("custodian", custodian.Custodian.describe, timeout=soon)

    def accessed(self, some: Sequence[Access]) -> None:
        """Tell it which memories were in an answer; raises nothing."""
        if not some:
            return
        try:
            is_told = self._accessed(tuple(some))
        except MailboxFull:
            is_told = False
        if not is_told:
            self.lost += len(some)


class Librarian:
    """The librarian by name; a folder takes as long as it takes, up to what a verb may."""

    def __init__(self, names: Names) -> None:
        """Remember the names."""
        self.ingest = names.method("librarian", librarian.Librarian.ingest, timeout=None)
        self.take = names.method("librarian", librarian.Librarian.take, timeout=None)


class Judge:
    """The judge as everybody else sees it: by name, and nobody's trouble when it is away.

    An answer is None where there is no model beyond the rules, where it is not sure, where the
    budget of the `run` is used up, and where it cannot be asked now. No run waits for longer than
    `judging.patience_s`, and nothing is raised.
    """

    def __init__(self, names: Names, settings: JudgingSettings, *, grace: float = GRACE) -> None:
        """Remember the names; without a model nobody is asked at all."""
        kind, wait = judge.Judge, settings.patience_s + grace
        self.is_there = bool(settings.cross_encoder or settings.model)
        #: What its judgements depend on beside the texts: another one may judge otherwise.
        parts = settings.model_dump(include=NAMING, mode="json")
        self.named = "|".join(str(parts[each]) for each in sorted(parts))
        self.describe = names.method("judge", kind.describe, timeout=SOON)
        self._compare = names.method("judge", kind.compare, timeout=wait)
        self._summarise = names.method("judge", kind.summarise, timeout=wait)
        self._merged = names.method("judge", kind.merged, timeout=wait)
        self._synthesise = names.method("judge", kind.synthesise, timeout=wait)
        self._distil = names.method("judge", kind.distil, timeout=wait)

    async def compare(self, pairs: Sequence[Pair], *, run: str = "") -> list[Judgement | None]:
        """Return what each pair of claims is to each other."""
        none: list[Judgement | None] = [None] * len(pairs)
        if not (pairs and self.is_there):
            return none
        return await _quietly(self._compare(pairs, run=run)) or none

    async def summarise(self, text: str, *, most: int, run: str = "") -> str | None:
        """Return a text in at most so many letters."""
        if not self.is_there:
            return None
        return await _quietly(self._summarise(text, most=most, run=run))

    async def merged(
        self, texts: Sequence[str], *, prefer: str = "equal", run: str = ""
    ) -> str | None:
        """Return one text that says all that several say; `prefer` is whose words count."""
        if not self.is_there:
            return None
        return await _quietly(self._merged(texts, prefer=prefer, run=run))

    async def synthesise(self, texts: Sequence[str], *, run: str = "") -> str | None:
        """Return the one principle behind several texts."""
        return await _quietly(self._synthesise(texts, run=run)) if self.is_there else None

    async def distil(
        self, heading: str | None, text: str, *, run: str = ""
    ) -> list[Learning] | None:
        """Return what is worth knowing in a section."""
        return await _quietly(self._distil(heading, text, run=run)) if self.is_there else None


async def _quietly(answer: Awaitable[T]) -> T | None:
    """Return an answer, or None when the judge is away or late."""
    try:
        return await answer
    except CortexError as error:
        log.warning("the judge was not heard: %s", error)
        return None
