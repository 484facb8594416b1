"""The verb about thresholds: which fit what was decided, and whether they hold from now on."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cortex_actors import calibrated
from cortex_actors.domain.insight import Claim
from cortex_actors.errors import BadInput
from cortex_actors.rules.calibration import Decided, Label, Suggestion, suggest
from cortex_actors.rules.classification import classify
from cortex_actors.storage import contradictions
from cortex_actors.verbs import Verbs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cortex_actors.pipeline.relations import Ruling
    from cortex_actors.rules.calibration import Figures, Score

#: Pairs that a client may bring.
MOST = 1_000

#: Labels of a file that mean no more than that the two are not one claim.
_LABELS = {"related": Label.DISTINCT, "unrelated": Label.DISTINCT}

#: How a pair has to look.
_SHAPE = '{"label": ..., "a": {"text": ...}, "b": {"text": ...}}'


class CalibrationVerbs(Verbs):
    """Part of the front desk."""

    async def calibrate(
        self,
        domain: str | None = None,
        pairs: list[dict[str, Any]] | None = None,
        *,
        write: bool = False,
    ) -> dict[str, Any]:
        """Return thresholds that fit the decided pairs, with what they would change.

        Decided are contradictions that a person resolved or dismissed, merges that nobody took
        apart, and `pairs` that the client brings, each with a label. With `write` the thresholds of
        those that can be bettered are written down and followed at once; nothing else is. Raises
        `BadInput`, `Unembeddable`, `EmbedderDown`.
        """
        parts, ruling = self._parts, self._parts.ruling()
        model = parts.model()
        await asyncio.to_thread(ruling.read)
        known = await parts.records.read(lambda c: contradictions.pairs(c, model))
        known += await self._brought(pairs or [])
        found = await asyncio.to_thread(partial(_suggested, known, ruling, only=domain))
        better = [each for each in found if not each.reason]
        changed: list[str] = []
        if write and better:
            path, now = parts.home.calibration, parts.clock.now()
            await asyncio.to_thread(partial(calibrated.write, path, better, at=now))
            changed = list((await parts.reload())["changed"])
        return {
            "model": model,
            "pairs": len(known),
            "suggestions": [_shape(each) for each in found],
            "written": str(parts.home.calibration) if write and better else None,
            "changed": changed,
        }

    async def _brought(self, pairs: Sequence[dict[str, Any]]) -> list[Decided]:
        """Return pairs that a client brings, with the cosines of the model that answers."""
        if len(pairs) > MOST:
            message = f"cannot calibrate by {len(pairs)} pairs at once: bring {MOST} at most"
            raise BadInput(message)
        read = [_pair(number, each) for number, each in enumerate(pairs, 1)]
        texts = list(
            dict.fromkeys(claim.text for left, right, _ in read for claim in (left, right))
        )
        if not texts:
            return []
        rows = dict(zip(texts, await self._parts.embed(texts), strict=True))
        return [
            Decided(
                left=left,
                right=right,
                cosine=float(np.dot(rows[left.text], rows[right.text])),
                label=label,
                domain=_domain(left, right),
            )
            for left, right, label in read
        ]


def _suggested(known: Sequence[Decided], ruling: Ruling, *, only: str | None) -> list[Suggestion]:
    """Return a suggestion for all pairs, and for each domain there are pairs of."""
    lexicon, limits = ruling.relations().lexicon, ruling.limits
    domains = sorted({each.domain for each in known if each.domain is not None})
    if only is not None:
        domains = [each for each in domains if each == only] or [only]
    found = [] if only else [suggest(known, limits.default, lexicon=lexicon)]
    for name in domains:
        some = [each for each in known if each.domain == name]
        found.append(suggest(some, limits.of(name, name), domain=name, lexicon=lexicon))
    return found


def _pair(number: int, found: object) -> tuple[Claim, Claim, Label]:
    """Return one pair that a client brings. Raises `BadInput` naming it."""
    try:
        assert isinstance(found, dict)  # noqa: S101 - answered below like any other shape
        label = _LABELS.get(found["label"]) or Label(found["label"])
        left, right = (_claim(found[side]) for side in ("a", "b"))
    except (AssertionError, KeyError, TypeError, ValueError) as error:
        known = ", ".join([*(each for each in Label), *_LABELS])
        message = f"pair {number} cannot be read: it must be {_SHAPE} with a label of {known}"
        raise BadInput(message) from error
    return left, right, label


def _claim(side: dict[str, Any]) -> Claim:
    """Return one side of a pair; raises `ValueError` for one without a text."""
    text, heading = side["text"], side.get("heading")
    if not (isinstance(text, str) and text.strip() and isinstance(heading, str | None)):
        raise ValueError(text)
    return Claim(text, heading or None)


def _domain(left: Claim, right: Claim) -> str | None:
    """Return the domain of two claims that are of the same."""
    one, other = (classify(each.text, each.heading).domain for each in (left, right))
    return one if one == other else None


def _shape(found: Suggestion) -> dict[str, Any]:
    """Return a suggestion as clients get it."""
    return {
        "domain": found.domain,
        "counts": found.counts,
        "now": {**_thresholds(found.thresholds), **_figures(found.now)},
        "then": {**_thresholds(found.suggested), **_figures(found.then)},
        "better": not found.reason,
        "reason": found.reason,
    }


def _thresholds(found: Any) -> dict[str, float]:  # noqa: ANN401 - thresholds
    """Return the thresholds that can be calibrated."""
    return {"cluster": found.cluster, "judged": found.judged}


def _figures(found: Figures) -> dict[str, Any]:
    """Return figures as clients get them."""
    return {
        "merges": _scored(found.merges),
        "contradictions": _scored(found.contradictions),
        "contradictions_merged": found.merged,
    }


def _scored(found: Score) -> dict[str, Any]:
    """Return a score with what follows of it."""
    shares: Iterable[tuple[str, float | None]] = (
        ("precision", found.precision),
        ("recall", found.recall),
        ("f1", found.f1),
    )
    return {**asdict(found), **{n: None if v is None else round(v, 4) for n, v in shares}}
