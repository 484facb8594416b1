"""Judge: what the rules leave open is put to a model, if there is one.

hears   -
says    -
asks    ledger
keeps   the layers' processes and connections, open questions and what each run has used of its
        budget (lost on a crash; answers that were given are in the ledger, and who asked goes on
        without)

What a run may cost: questions to a model that is paid for, and seconds that it waits. Pure.

What became of the questions that a judge was asked, counted since it started.

Which layers the settings ask for.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from cortex_actors.domain.insight import Claim, Conflict, Judgement, hash_statement
from cortex_actors.errors import CortexError, JudgeDown
from cortex_actors.judging.chat import LanguageLayer, get_text
from cortex_actors.judging.layer import (
    Answer,
    JudgeInfo,
    JudgeQuestion,
    JudgingLayer,
    MakeLayers,
    QuestionKind,
    Told,
)
from cortex_actors.judging.nli import EntailmentLayer
from cortex_actors.runtime.actor import AsyncioActor, deferred
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.runtime.threads import wait_within
from cortex_actors.storage.pipeline import verdicts
from cortex_actors.storage.pipeline.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from cortex_actors.clock import Clock
    from cortex_actors.runtime.names import NamedActor
    from cortex_actors.sections import JudgingSettings
    from cortex_actors.storage.ledger.actor import Connection, Records


N = TypeVar("N", int, float)
R = TypeVar("R")
P = ParamSpec("P")

#: Seconds beyond its own patience that the judge may take to answer, and to come back.
GRACE = 5.0

#: Seconds the judge may take to say how it is.
SOON = 2.0

#: Settings that decide what a model says, and not only whether it is asked in time.
NAMING = {"cross_encoder", "cross_encoder_labels", "cross_encoder_sure", "model", "base_url"}

#: Runs whose use is remembered: far more than run at once.
RUNS = 64


class Budget:
    """Grants each run so many questions, the first ones that are asked, and so many seconds.

    A run begins when it asks for the first time. A crash forgets what it has used; a
    question without a name is a run of its own each time.
    """

    def __init__(self, most: int, seconds: float) -> None:
        """Grant each run so many questions and seconds."""
        self._most = most
        self._seconds = seconds
        self._used: dict[str, int] = {}
        self._until: dict[str, float] = {}

    def get_deadline(self, run: str, at: float) -> float:
        """Return when a run that asks at a monotonic time has waited for long enough."""
        if not run:
            return at + self._seconds
        return _latest(self._until, run, self._until.get(run, at + self._seconds))

    def grant(self, run: str, wanted: int) -> int:
        """Return how many of the wanted questions may be asked, and count them as asked."""
        used = self._used.get(run, 0)
        granted = max(0, min(wanted, self._most - used))
        if run:
            _latest(self._used, run, used + granted)
        return granted


def _latest(known: dict[str, N], run: str, value: N) -> N:
    """Note a run's number, and forget the run that was heard of longest ago."""
    known.pop(run, None)
    known[run] = value
    if len(known) > RUNS:
        del known[next(iter(known))]
    return value


log = logging.getLogger("cortex.judge")

#: Two claims and the cosine of their vectors, None where it is not known.
Pair = tuple["Claim", "Claim", float | None]

#: Answers that the ledger keeps, the oldest out first: some 50 MB.
KEPT = 100_000

#: Answers deleted at once.
PRUNED = 100


class Judge(AsyncioActor):
    """Asks one layer after another until one is sure: entailment first, a language model last.

    Every answer is kept in the ledger under the question, the layer and the model, so the same
    question is never paid for twice. No run waits longer than `judging.patience_s` in all: what is
    being answered by then is answered to its end and kept for the next time. No trouble of a model
    is raised here; an asker gets None and goes on by the rules.
    """

    #: Askers that wait for a turn; each question takes the mailbox microseconds.
    mailbox_limit = 200
    overflow = Overflow.BACK_PRESSURE

    def __init__(
        self,
        make: MakeLayers,
        records: Records,
        *,
        clock: Clock,
        settings: JudgingSettings,
        on_line: Callable[[str], None],
    ) -> None:
        """Make the layers that the settings ask for; nothing is loaded yet."""
        super().__init__()
        self._records = records
        self._clock = clock
        self._settings = settings
        self._layers = make(settings, clock, on_line=on_line)
        self._rooms = {layer.decider: asyncio.Semaphore(layer.at_once) for layer in self._layers}
        self._budget = Budget(settings.budget, settings.patience_s)
        self._flights: dict[bytes, asyncio.Task[dict[bytes, Answer]]] = {}
        #: By the names of `JudgeInfo`.
        self._counts = Counter[str]()

    def on_start(self) -> None:
        """Have each layer look after what it needs for as long as this life lasts."""
        for layer in self._layers:
            self.spawn(layer.live(), name=f"layer {layer.decider}")

    @deferred
    async def compare(self, pairs: Sequence[Pair], *, run: str = "") -> list[Judgement | None]:
        """Return what each pair of claims is to each other; None where no layer is sure.

        Questions that belong together name their `run`: it has one budget.
        """
        until = self._budget.get_deadline(run, self._clock.monotonic())
        asked = [JudgeQuestion.compare(left, right) for left, right, _ in pairs]
        judged: list[Judgement | None] = [None] * len(pairs)
        for layer in self._able(QuestionKind.COMPARE):
            left = [number for number, known in enumerate(judged) if known is None]
            told = await self._told(layer, [asked[number] for number in left], run, until=until)
            for number, answer in zip(left, told, strict=True):
                found = None if answer is None else layer.read_judgement(answer)
                judged[number] = found and _placed(found, *pairs[number][:2])
        return judged

    @deferred
    async def write(self, question: JudgeQuestion, *, run: str = "") -> str | None:
        """Return the text that a question asks for; None where no layer can write it."""
        until = self._budget.get_deadline(run, self._clock.monotonic())
        for layer in self._able(question.kind):
            (answer,) = await self._told(layer, [question], run, until=until)
            if answer is not None:
                return get_text(answer)
        return None

    def describe(self) -> JudgeInfo:
        """Return how the layers are, and what became of the questions."""
        return JudgeInfo(tuple(layer.describe() for layer in self._layers), **self._counts)

    def _able(self, kind: QuestionKind) -> Iterator[JudgingLayer]:
        """Yield the layers that can be asked such a thing."""
        return (layer for layer in self._layers if layer.model_id and kind in layer.kinds)

    async def _told(
        self, layer: JudgingLayer, questions: Sequence[JudgeQuestion], run: str, *, until: float
    ) -> list[Answer | None]:
        """Return a layer's answer to each question that it has one for by then."""
        # Half of a text would be answered wrongly.
        fitting = [each for each in questions if each.size <= self._settings.longest]
        self._counts["too_long"] += len(questions) - len(fitting)
        keyed = {_key(layer, each): each for each in fitting}
        found = await self._known(layer, keyed)
        missing = {key: each for key, each in keyed.items() if key not in found}
        fresh = [key for key in missing if key not in self._flights]
        if layer.is_metered:
            # The run's budget may have room for some of them only.
            granted = self._budget.grant(run, len(fresh))
            self._counts["over_budget"] += len(fresh) - granted
            for key in fresh[granted:]:
                del missing[key]
            del fresh[granted:]
        for start in range(0, len(fresh), layer.bulk):
            some = fresh[start : start + layer.bulk]
            chunk = {key: missing[key] for key in some}
            flight = self.spawn(self._flight(layer, chunk, until), name=f"ask {layer.decider}")
            self._flights |= dict.fromkeys(some, flight)
        # What is asked already is joined.
        flights = {self._flights[key] for key in missing}
        if flights:
            left = max(0.0, until - self._clock.monotonic())
            await wait_within(self._clock, left, asyncio.wait(flights))
        for flight in flights:
            if flight.done() and not flight.cancelled():
                found |= flight.result()
            else:
                self._counts["late"] += 1
        return [found.get(_key(layer, each)) for each in questions]

    async def _known(
        self, layer: JudgingLayer, questions: Mapping[bytes, JudgeQuestion]
    ) -> dict[bytes, Answer]:
        """Return the answers that the ledger keeps; none when it cannot be asked."""
        try:
            kept = await self._records.read(lambda c: verdicts.load_answers(c, questions))
        except CortexError:
            return {}
        found = {k: each for k, each in kept.items() if layer.accepts(questions[k].kind, each)}
        self._counts["known"] += len(found)
        return found

    async def _flight(
        self, layer: JudgingLayer, questions: Mapping[bytes, JudgeQuestion], until: float
    ) -> dict[bytes, Answer]:
        """Put some questions to a layer when it has room, and keep what it says."""
        try:
            async with self._rooms[layer.decider]:
                if self._clock.monotonic() >= until:
                    return {}  # no run waits for it any more, and it costs nothing yet
                self._counts["asked"] += len(questions)
                told = await self._asked(layer, list(questions.values()))
            good = {
                key: each
                for key, each in zip(questions, told, strict=True)
                if not isinstance(each, CortexError)
            }
            self._counts["answered"] += len(good)
            self._counts["failed"] += len(questions) - len(good)
            at = self._clock.now()
            rows = [
                _verdict(layer, key, question=questions[key], answer=answer, at=at)
                for key, answer in good.items()
            ]
            await self._keep(layer, rows)
            return good
        finally:
            for key in questions:
                del self._flights[key]

    async def _asked(self, layer: JudgingLayer, questions: Sequence[JudgeQuestion]) -> list[Told]:
        """Return what a layer says, or its trouble for each of the questions."""
        try:
            return await layer.answer_all(questions)
        except CortexError as error:
            log.debug("%s did not answer: %s", layer.model_id, error)
            return [error] * len(questions)
        except Exception as error:  # a fault of the layer's is no reason to restart who needs none
            log.exception("asking %s failed inside", layer.model_id)
            return [JudgeDown(f"it failed inside: {error!r}")] * len(questions)

    async def _keep(self, layer: JudgingLayer, rows: Sequence[Verdict]) -> None:
        """Keep answers in the ledger; one that cannot be written is asked for again some day."""

        def unit(connection: Connection) -> None:
            verdicts.keep(connection, rows)
            verdicts.prune(connection, KEPT, PRUNED)

        try:
            await self._records.write(unit)
        except CortexError as error:
            log.warning("%d answers of %s were not kept: %s", len(rows), layer.model_id, error)


class QuietJudge:
    """The judge as its askers see it: by name, late or absent without an error.

    An answer is None where there is no model beyond the rules, where it is not sure, where the
    budget of the `run` is used up, and where it cannot be asked now. No run waits for longer than
    `judging.patience_s`, and nothing is raised.
    """

    def __init__(
        self, judge: NamedActor[Judge], settings: JudgingSettings, *, grace: float = GRACE
    ) -> None:
        """Remember whom to ask; without a model no question is asked at all."""
        self.is_there = bool(settings.cross_encoder or settings.model)
        #: What its judgements depend on beside the texts: another one may judge otherwise.
        parts = settings.model_dump(include=NAMING, mode="json")
        self.named = "|".join(str(parts[each]) for each in sorted(parts))
        self._soon = judge.limit(SOON)
        self._judge = judge.limit(settings.patience_s + grace)

    async def describe(self) -> JudgeInfo:
        """Return how the layers are, soon; raises where it cannot be asked."""
        return await self._soon.ask(Judge.describe)

    async def compare(self, pairs: Sequence[Pair], *, run: str = "") -> list[Judgement | None]:
        """Return what each pair of claims is to each other."""
        judged = await self._ask(Judge.compare, pairs, run=run) if pairs else None
        return judged or [None] * len(pairs)

    async def summarise(self, text: str, *, most: int, run: str = "") -> str | None:
        """Return a text in at most so many letters."""
        question = JudgeQuestion(QuestionKind.SUMMARISE, {"texts": [text], "most": most})
        return await self._ask(Judge.write, question, run=run)

    async def merge(
        self, texts: Sequence[str], *, prefer: str = "equal", run: str = ""
    ) -> str | None:
        """Return one text that says all that several say.

        `prefer` says whose words count where two say the same: "a", the first one's, or "b".
        """
        return await self._ask(Judge.write, JudgeQuestion.merge(texts, prefer), run=run)

    async def synthesise(self, texts: Sequence[str], *, run: str = "") -> str | None:
        """Return the one principle behind several texts."""
        return await self._ask(
            Judge.write, JudgeQuestion.from_texts(QuestionKind.SYNTHESISE, texts), run=run
        )

    async def _ask(
        self,
        method: Callable[Concatenate[Judge, P], Awaitable[R]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> R | None:
        """Return an answer, or None without a model and when the judge is away or late."""
        if not self.is_there:
            return None
        try:
            return await self._judge.ask(method, *args, **kwargs)
        except CortexError as error:
            log.warning("the judge was not heard: %s", error)
            return None


def _placed(judgement: Judgement, left: Claim, right: Claim) -> Judgement:
    """Return a judgement that knows where the two hold: a model may not have looked at that."""
    if judgement.conflict is Conflict.DIRECT and left.scope != right.scope:
        return replace(judgement, conflict=Conflict.CONTEXTUAL)
    return judgement


def _verdict(
    layer: JudgingLayer, key: bytes, *, question: JudgeQuestion, answer: Answer, at: int
) -> Verdict:
    """Return an answer as the ledger keeps it; of two texts with their hashes and its relation."""
    kept = Verdict(key, layer.decider, layer.model_id, question.kind, answer, at)
    if question.kind is not QuestionKind.COMPARE:
        return kept
    sides = (question.quoted[side].get("text", "") for side in ("one", "other"))
    one, other = sorted(map(hash_statement, sides))
    found = layer.read_judgement(answer)
    relation = None if found is None else str(found.relation)
    return replace(kept, one=one, other=other, relation=relation)


def _key(layer: JudgingLayer, question: JudgeQuestion) -> bytes:
    """Return the key of a layer's answer to a question."""
    return question.hash_question(layer.decider, layer.model_id, layer.edition)


def make_layers(
    settings: JudgingSettings, clock: Clock, *, on_line: Callable[[str], None]
) -> tuple[JudgingLayer, ...]:
    """Return the layers beyond the rules, the first to be asked first; none by default.

    A model that is not on this machine is a state of its layer and no error here.
    """
    found: list[JudgingLayer] = []
    if settings.cross_encoder:
        found.append(EntailmentLayer(settings, clock, on_line=on_line))
    if settings.model:
        found.append(LanguageLayer(settings, clock))
    return tuple(found)
