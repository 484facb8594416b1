"""Asking: several stores at once, each in its own time; one that fails costs only its part."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex_actors.endpoint.client import LeftAlone
from cortex_actors.errors import CortexError
from cortex_actors.federation.store import LOCAL, Answer, Outcome
from cortex_actors.rules.fusion import Listed
from cortex_actors.text.hazards import visible

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from cortex_actors.clock import Clock
    from cortex_actors.federation.spec import Member
    from cortex_actors.federation.store import Question

log = logging.getLogger("cortex.federation")

#: Seconds after which a store is given up that has a limit of its own: that one comes first, and
#: says more.
GRACE = 0.03

#: Characters of the reason why there is no answer.
REASON = 200


@dataclass(frozen=True, slots=True)
class Round:
    """What the stores said when they were asked once.

    Attributes:
        lists: of those that answered, in the configured order.
        outcomes: how each ask ended.
        skipped: (store, reason) of what did not take part in an answer.

    """

    lists: tuple[Listed, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()

    @property
    def failed(self) -> tuple[tuple[str, str], ...]:
        """(store, reason) of those that gave no answer."""
        return tuple((each.store, each.reason) for each in self.outcomes if each.reason)

    @property
    def answered(self) -> tuple[str, ...]:
        """The stores that answered."""
        return tuple(each.store for each in self.lists)


async def asked(
    members: Sequence[Member], question: Question, *, limit: int, seconds: float, clock: Clock
) -> Round:
    """Ask all members at once for that many hits, as far as a store gives so many.

    It takes as long as the slowest of them, `seconds` at most.
    """

    def ask(member: Member) -> Callable[[], Awaitable[Answer]]:
        wanted = min(max(limit, 1), member.store.most)
        return lambda: member.store.recall(question, limit=wanted, seconds=seconds)

    told = await asyncio.gather(
        *(within(each.store.name, ask(each), seconds=seconds, clock=clock) for each in members)
    )
    pairs = [(member, one) for member, one in zip(members, told, strict=True)]
    skipped = [(member.store.name, why) for member, one in pairs for why in one.left_out]
    return Round(
        tuple(_listed(member, one.answer) for member, one in pairs if one.answer is not None),
        tuple(one.outcome for one in told if one.outcome is not None),
        tuple(skipped),
    )


@dataclass(frozen=True, slots=True)
class Told:
    """What came of asking one store.

    Attributes:
        outcome: how that ended; None where it was not even tried.
        left_out: what did not take part, and why.

    """

    answer: Answer | None = None
    outcome: Outcome | None = None
    left_out: tuple[str, ...] = ()


async def within(
    name: str, ask: Callable[[], Awaitable[Answer]], *, seconds: float, clock: Clock
) -> Told:
    """Return what comes of asking a store, in any case before long; raises nothing."""
    begun = clock.monotonic()
    answer: Answer | None = None
    try:
        async with asyncio.timeout(seconds + GRACE):
            answer, reason = await ask(), ""
    except LeftAlone as error:
        return Told(left_out=(str(error),))
    except TimeoutError:
        reason = f"timeout after {seconds:.2f} s"
    except Exception as error:
        reason = str(error) or type(error).__name__
        if not isinstance(error, CortexError):
            log.warning("the store %s failed", name, exc_info=error)
    outcome = Outcome(name, clock.monotonic() - begun, visible(reason[:REASON]))
    return Told(answer, outcome, () if answer is None else answer.skipped)


def _listed(member: Member, answer: Answer) -> Listed:
    """Return an answer as the fusion takes it; a limit of shares is for other programs alone."""
    return Listed(
        member.store.name,
        answer.hits,
        member.weight,
        member.floor,
        capped=member.store.kind != LOCAL,
    )
