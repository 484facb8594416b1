"""The verbs about judging: what two texts are to each other, and who is asked."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol

from cortex_actors import lookup
from cortex_actors.domain.insight import Claim, Relation
from cortex_actors.errors import BadInput, ConfigurationError, CortexError
from cortex_actors.rules import contradiction
from cortex_actors.rules.sameness import cosine
from cortex_actors.verbs import Verbs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence

    from cortex_actors.domain.insight import Judgement
    from cortex_actors.judging.judge import JudgeInfo

#: Characters of a text that can be judged: the longest statement of 1,002 real files has 4,900.
LONGEST = 8_000

#: States of a layer that somebody has to know of.
_TROUBLE = frozenset({"down", "missing"})


class JudgePort(Protocol):
    """What the verbs ask of the judge; it raises nothing but what `describe` does."""

    is_there: bool

    def compare(
        self, pairs: Sequence[tuple[Claim, Claim, float | None]], *, run: str = ""
    ) -> Awaitable[Sequence[Judgement | None]]:
        """Return what a model says of each pair."""

    def describe(self) -> Awaitable[JudgeInfo]:
        """Return which layers there are and how they are; answered soon or not at all."""


class JudgeVerbs(Verbs):
    """Part of the front desk."""

    async def judge(self, one: str, other: str) -> dict[str, Any]:
        """Return what two texts are to each other: by the rules, by a model, and what counts.

        The model is asked whatever the rules say, so that one can see that it works. Raises
        `BadInput` for a text of nothing or of more than 8,000 characters, `ConfigurationError` for
        what is wrong with the user's own rules.
        """
        pair = (_claim(one), _claim(other))
        ruling = self._parts.ruling()
        await asyncio.to_thread(ruling.read)
        if ruling.trouble:
            raise ConfigurationError(ruling.trouble)
        score, relations = await self._score(one, other), ruling.relations()
        found = contradiction.judge(
            *pair,
            cosine=score,
            thresholds=relations.limits.default,
            lexicon=relations.lexicon,
        )
        (said,) = await self._parts.judge().compare([(*pair, score)])
        is_open = found.relation is Relation.RELATED
        return {
            "one": one,
            "other": other,
            "cosine": score,
            "rules": asdict(found),
            "model": None if said is None else asdict(said),
            "judgement": asdict(
                contradiction.believed(said, *pair, lexicon=relations.lexicon)
                if said is not None and is_open
                else found
            ),
            "judge": await self._judge(),
        }

    async def _judge(self) -> dict[str, Any]:
        """Return how the judge is; nothing without a model beyond the rules."""
        port = self._parts.judge()
        return await lookup.guarded(_described(port)) if port.is_there else {}

    async def _score(self, one: str, other: str) -> float | None:
        """Return the cosine of two texts; None while there is no model to embed them."""
        with suppress(CortexError):
            first, second = await self._parts.embed([one, other])
            return round(cosine(first, second), 4)
        return None


def worries(judge: Mapping[str, Any]) -> list[str]:
    """Return which layers cannot be asked, a sentence each."""
    if judge.get("state") == "away":
        return [f"judge: {judge['reason']}"]
    return [
        f"judge: {layer['reason']}; the rules decide alone meanwhile"
        for layer in judge.get("layers", ())
        if layer["state"] in _TROUBLE
    ]


async def _described(port: JudgePort) -> dict[str, Any]:
    """Return how the judge is, as plain data."""
    found = asdict(await port.describe())
    layers = [{**each, "state": str(each["state"])} for each in found["layers"]]
    return {**found, "layers": layers}


def _claim(text: str) -> Claim:
    """Return a text as a claim; raises `BadInput`."""
    if not text.strip():
        message = "cannot judge a text of nothing; give two statements"
        raise BadInput(message)
    if len(text) > LONGEST:
        message = f"cannot judge a text of {len(text):,} characters; the limit is {LONGEST:,}"
        raise BadInput(message)
    return Claim(text)
