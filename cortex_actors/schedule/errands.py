"""What the schedule has others do: requests on topics, the fading of principles, the digest."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

from cortex_actors.clock import DAY, iso, ulid
from cortex_actors.domain.event import Nothing
from cortex_actors.schedule.jobs import Done
from cortex_actors.storage import principle_decay, projects
from cortex_actors.topics import ORGANISATION_REQUESTED

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex_actors.bus.bus import Bus
    from cortex_actors.clock import Clock
    from cortex_actors.domain.event import Event, Payload
    from cortex_actors.storage.ledger.actor import Connection, Records
    from cortex_actors.storage.principle_decay import Scales

#: Who says the events of the schedule.
SOURCE = "scheduler"


class Errands:
    """Prepares what a run says or writes; the scheduler commits it with the job's row."""

    def __init__(
        self, bus: Bus, records: Records, clock: Clock, *, scales: Scales = principle_decay.DEFAULTS
    ) -> None:
        """Remember whom to ask; principles fade by `scales`."""
        self._bus = bus
        self._records = records
        self._clock = clock
        self._scales = scales

    async def request(self, topic: str, payload: Payload, said: str) -> Done:
        """Say an event that has another actor do something."""
        event: Event[Payload] = self._bus.event(topic, payload, source=SOURCE)
        return Done(said, say=[event])

    async def decay(self) -> Done:
        """Let principles fade that nobody observes any more; one step down at most in a run.

        The last step takes several runs in a row, and the time is that of the ledger's last events
        where the clock is ahead of them: a clock that is wrong must not make everything old. Where
        one stands otherwise now the organiser is asked to tell whoever gave it to a file.
        """
        now, scales = self._clock.now(), self._scales

        def judged(connection: Connection) -> list[principle_decay.Faded]:
            return principle_decay.faded(connection, principle_decay.today(connection, now), scales)

        found = await self._records.read(judged)
        if not found:
            return Done()
        # Judged again where it is written: some may have been observed or distilled meanwhile.
        return Done(
            _steps(found),
            work=lambda connection: principle_decay.write(connection, judged(connection)),
            say=self._asked() if any(each.status != each.before for each in found) else (),
        )

    def _asked(self) -> list[Event[Payload]]:
        """Return what has the organiser look at all principles."""
        return [self._bus.event(ORGANISATION_REQUESTED, Nothing(), source=SOURCE)]

    async def digest(self) -> Done:
        """Say what was learned since the last digest, and keep that as a run, if it is anything."""
        begun = self._clock.now()
        found = await self._records.read(_digest_until(begun))
        if not found.news:
            return Done()
        now = self._clock.now()
        run = projects.Run(
            id=f"run_{ulid(now)}",
            kind=projects.KIND,
            started_at=begun,
            finished_at=now,
            counts=asdict(found),
        )
        return Done(_told(found), work=lambda connection: projects.record(connection, run))


def _digest_until(now: int) -> Callable[[Connection], projects.Digest]:
    """Return the query for what is new since the last digest.

    One that lies ahead was made while the clock was wrong: then it is what is new of a day.
    """

    def query(connection: Connection) -> projects.Digest:
        last = projects.since(connection)
        return projects.digest(connection, last if last <= now else now - DAY, now)

    return query


def _told(found: projects.Digest) -> str:
    """Return a digest as a sentence."""
    news = ", ".join(f"{number} {words}" for words, number in found.news.items())
    start = f" since {iso(found.since)}" if found.since else ""
    waits = f"{found.open} contradictions and {found.review} texts wait for a decision"
    return f"{news}{start}; {waits}, {found.candidates} candidates"


def _steps(found: list[principle_decay.Faded]) -> str:
    """Return how principles came to stand, as a sentence."""
    moved = Counter(each.status for each in found if each.status != each.before)
    steps = "".join(f", {number} {status}" for status, number in sorted(moved.items()))
    return f"{len(found)} principles ranked anew{steps}"
