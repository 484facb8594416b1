"""One call on the doctor: look, mend if that is wished, and look again.

The same for a daemon and for one that is down: only the `Ward` differs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cortex_actors.checkup import treatment
from cortex_actors.domain.hit import Severity, exit_code, worst

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from cortex_actors.checkup.rounds import Look
    from cortex_actors.checkup.treatment import Done, Ward
    from cortex_actors.clock import Clock
    from cortex_actors.domain.hit import Diagnosis

#: Digits of the seconds that are told.
_DIGITS = 3


@dataclass(frozen=True, slots=True)
class Visit:
    """What one call finds and does."""

    look: Callable[[], Awaitable[Look]]
    #: Compares the index, which takes whoever has it open.
    compare: Callable[[Look], Awaitable[list[Diagnosis]]]
    ward: Ward
    clock: Clock

    async def __call__(self, *, repair: bool) -> dict[str, Any]:
        """Return the diagnoses as they are at the end, and what was repaired.

        A damaged ledger is not repaired, whatever else is wrong with it: its recovery is the next
        start's.
        """
        begun = self.clock.monotonic()
        found, look = await self._examined()
        done: list[Done] = []
        if repair and not any(each.damaged for each in found):
            done = await treatment.treat(look.with_more(found), self.ward)
            if done:
                found, look = await self._examined()
        took = self.clock.monotonic() - begun
        return answer(found, done, took_s=took, online=self.ward.renew is not None)

    async def _examined(self) -> tuple[list[Diagnosis], Look]:
        """Return everything that is found now."""
        look = await self.look()
        found = list(look.diagnoses)
        if look.model and not any(each.damaged for each in found):
            found += await self.compare(look)
        return found, look


def answer(
    found: Sequence[Diagnosis], done: Sequence[Done], *, took_s: float, online: bool
) -> dict[str, Any]:
    """Return a visit in the shape that clients get it."""
    return {
        "severity": str(worst(found)),
        "exit_code": exit_code(found),
        "online": online,
        "checks": [
            {
                "check": each.check,
                "found": each.found,
                "severity": str(each.severity),
                "mend": each.mend,
                "repairable": each.repair is not None,
            }
            for each in found
        ],
        "wrong": sum(each.severity in (Severity.WARNING, Severity.ERROR) for each in found),
        "repaired": [{"repair": str(each.repair), "did": each.did} for each in done],
        "took_s": round(took_s, _DIGITS),
    }
