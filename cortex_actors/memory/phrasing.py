"""Phrasing: what a language model says of memories, as far as there is one and it can be believed.

Without one, or where its budget is used up, where it is late or writes what its sources do not say,
the answer is None and the rules' own words count. Nothing is raised here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cortex_actors.domain.insight import Claim
from cortex_actors.memory.whole import spoken
from cortex_actors.rules.merging import objection
from cortex_actors.text.summary import ABSTRACT, SUMMARY, sentences

if TYPE_CHECKING:
    from cortex_actors.domain.insight import Judgement
    from cortex_actors.domain.memory import Memory
    from cortex_actors.memory.ports import JudgePort
    from cortex_actors.rules.merging import Prefer

#: Letters of a summary that a model writes.
LONGEST = 600


class Phrasing:
    """Puts questions to the judge; what belongs to one memory is one `run`, with one budget."""

    def __init__(self, judge: JudgePort) -> None:
        """Ask that judge."""
        self._judge = judge

    async def compared(self, one: str, other: str, cosine: float, *, run: str) -> Judgement | None:
        """Return what two texts are to each other; None where nobody is sure."""
        if not self._judge.is_there:
            return None
        (said,) = await self._judge.compare([(Claim(one), Claim(other), cosine)], run=run)
        return said

    async def merged(self, new: str, old: str, *, prefer: Prefer, run: str) -> str | None:
        """Return one text for two that say the same; None where nobody can, or it is not it."""
        if not self._judge.is_there:
            return None
        text = await self._judge.merged([new, old], prefer=str(prefer), run=run)
        return None if text is None or objection(text, (new, old)) is not None else text

    async def briefed(self, memory: Memory, *, own: str | None, run: str) -> Memory:
        """Return a memory with a model's abstract and summary, where its text is long enough.

        An agent's own abstract is kept.
        """
        text = spoken(memory)
        if not self._judge.is_there or len(sentences(text)) <= SUMMARY:
            return memory
        short = own or await self._judge.summarise(text, most=ABSTRACT, run=run)
        long = await self._judge.summarise(text, most=LONGEST, run=run)
        return replace(memory, abstract=short or memory.abstract, summary=long or memory.summary)
