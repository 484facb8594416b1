"""Federation: asks every store the same question at once and makes one answer of it.

hears   -
says    -
asks    roster (who is asked, and how), cache (the question's vector)
keeps   - (a question in hand is lost on a crash; whoever asked is told)
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from cortex_actors.domain.hit import REMOTE, Hit, Recall
from cortex_actors.errors import CortexError
from cortex_actors.federation.answers import flagged
from cortex_actors.federation.expansion import Beside, bare
from cortex_actors.federation.fan import Wording, admit, asked, merged, party, wanted
from cortex_actors.federation.roster import Roster
from cortex_actors.federation.store import LOCAL, Outcome, Question
from cortex_actors.rules import fusion
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.inbox import Overflow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.clock import Clock
    from cortex_actors.runtime.names import NamedActor
    from cortex_actors.sections import FederationSettings
    from cortex_actors.storage.embeddings import EmbedInTime

log = logging.getLogger("cortex.federation")

#: Characters of other programs' texts that are looked through on the loop; more take a thread.
AT_ONCE = 8_192


class Federation(AsyncioActor):
    """Answers questions, several at a time; a store that fails or is late costs only its part."""

    #: Questions not yet begun, asked by people and agents: a hundred at once are a flood, and wait.
    mailbox_limit = 100
    overflow = Overflow.BACK_PRESSURE

    def __init__(
        self,
        roster: NamedActor[Roster],
        embed: EmbedInTime,
        *,
        model: str,
        clock: Clock,
        settings: FederationSettings,
    ) -> None:
        """Remember whom to ask; `model` is the one whose vectors questions are to have."""
        super().__init__()
        self._roster = roster
        self._clock = clock
        self._wording = Wording(embed, model=model, patience=settings.patience_s)
        self._beside = Beside(self._wording, clock)

    def recall(self, question: Question) -> asyncio.Task[Recall]:
        """Return what the stores know about a question; the mailbox goes on meanwhile.

        Raises `BadInput` for a question that is empty or too long, `NotFound` for a store that
        there is not, and `ModelChanged` when another model answers by now. While no text can be
        embedded, words alone are searched, and why is under `skipped`, as is a store that cannot
        be asked; a store that does not answer is under `failed`. Other stores are asked without
        what is secret in the question, and not at all when that cannot be told.
        """
        return self.spawn(self._recall(question), name="recall")

    async def _recall(self, question: Question) -> Recall:
        """Ask every store at once, and then for what may stand beside their answer.

        All of it takes no longer than one store may: what a slow one leaves no time for is not
        looked for.
        """
        admit(question)
        begun = self._clock.monotonic()
        fan = await self._roster.ask(Roster.fan)
        others = any(each.store.kind != LOCAL for each in fan.members)
        question = replace(question, now=self._clock.now())
        whom = party(fan, await self._wording.ready(question, others=others))
        wants, knobs = wanted(whom, fan.knobs), fan.knobs
        seconds = knobs.per_store_timeout_s
        until = self._clock.monotonic() + seconds
        first = await asked(
            whom.members, whom.question, limit=wants.ask, seconds=seconds, clock=self._clock
        )
        self.spawn(self._noted(first.outcomes), name="note")
        packet = merged(first.lists, wants, knobs)
        answered = [each for each in whom.members if each.store.name in first.answered]
        beside = await self._beside.found(
            replace(whom, members=tuple(answered)), packet, knobs, until=until
        )
        hits = [one.shown for one in packet]
        spent = sum(fusion.cost(hit) for hit in hits)
        if wants.budget is not None:
            beside = fusion.beside(beside, wants.budget - spent)
        return Recall(
            query=question.text,
            hits=await _looked_through(hits),
            failed=first.failed,
            skipped=(*first.skipped, *whom.skipped),
            took_ms=(self._clock.monotonic() - begun) * 1_000,
            beside=await _looked_through(beside),
            asked=first.answered,
            tokens=spent + sum(fusion.cost(hit) for hit in beside),
            budget_tokens=wants.budget,
        )

    async def _noted(self, outcomes: tuple[Outcome, ...]) -> None:
        """Have taken down how the stores did; nobody waits for it, and nothing fails for it."""
        try:
            await self._roster.ask(Roster.noted, outcomes)
        except Exception as error:
            # Uncaught it would end this actor, and every question in hand with it.
            trace = None if isinstance(error, CortexError) else error
            log.warning("how the stores answered was not noted: %s", error, exc_info=trace)


async def _looked_through(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return hits of which those of other programs say what makes them look like an attack."""
    if sum(len(hit.text) for hit in hits if hit.trust == REMOTE) <= AT_ONCE:
        return tuple(flagged(bare(hit)) for hit in hits)
    return await asyncio.to_thread(lambda: tuple(flagged(bare(hit)) for hit in hits))
