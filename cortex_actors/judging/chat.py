"""The language-model layer: any endpoint that speaks OpenAI's chat completions.

What is sent has no secrets in it and is quoted (`quoting`); what comes back has the shape that was
asked for (`answers`) and names nothing that was made up (`grounds`), or it is no answer.

What a chat completions API is sent, and its answer, read with suspicion. Pure.
"""

from __future__ import annotations

import asyncio
import logging
import random
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from cortex_actors.domain.insight import Decider
from cortex_actors.endpoint.client import LONGEST_CALL, LOOK_AGAIN, Breaker, Client, Position
from cortex_actors.endpoint.replies import Use, document_of, host_of, tokens_of
from cortex_actors.errors import (
    BadInput,
    CortexError,
    EndpointDown,
    EndpointUnusable,
    JudgeDown,
    JudgeMissing,
)
from cortex_actors.judging import prompts
from cortex_actors.judging.layer import Kind, LayerInfo, State
from cortex_actors.judging.prompts import quoted
from cortex_actors.text.credentials import mask_secrets
from cortex_actors.text.hazards import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cortex_actors.clock import Clock
    from cortex_actors.domain.insight import Judgement
    from cortex_actors.endpoint.replies import Answer as Reply
    from cortex_actors.endpoint.replies import Endpoint
    from cortex_actors.judging.layer import Answer, Question, Told
    from cortex_actors.sections import JudgingSettings


#: The same question has the same answer, as far as the model can.
TEMPERATURE, SEED = 0, 42

#: How a server is told that JSON is wanted, the strictest first: not every one knows all of them.
FORMATS = ("json_schema", "json_object", "text")

#: What a model says that it had to stop for, although it was not done.
_CUT_SHORT = "length"


@dataclass(frozen=True, slots=True)
class Completed:
    """A checked answer, and the tokens the server counted: of the question, of the answer."""

    answer: Answer
    read: int
    written: int


def request(model: str, kind: Kind, content: str, *, form: str, tokens: int) -> dict[str, Any]:
    """Return the document of one question; `content` is what it quotes."""
    document: dict[str, Any] = {
        "model": model,
        "messages": [
            {"role": "system", "content": prompts.system(kind)},
            {"role": "user", "content": content},
        ],
        "temperature": TEMPERATURE,
        "seed": SEED,
        "max_tokens": tokens,
    }
    if form == "json_schema":
        wanted = {"name": str(kind), "strict": True, "schema": prompts.schema(kind)}
        document["response_format"] = {"type": form, form: wanted}
    elif form == "json_object":
        document["response_format"] = {"type": form}
    return document


def completed(reply: Reply, *, kind: Kind, endpoint: Endpoint) -> Completed:
    """Return what a good answer of the server holds.

    Raises `EndpointDown` for what is no completion, or none of the shape that was asked for, and
    `BadInput` where the model would not answer.
    """
    where = f"{endpoint.named} answered"
    document = document_of(reply, endpoint, where=where, key="choices")
    try:
        choice = document["choices"][0]
        message = choice["message"]
        content, refusal = message.get("content"), message.get("refusal")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise EndpointDown(
            f"{where} with no completion; see that {endpoint.use.section}.base_url is "
            f"{endpoint.use.api}"
        ) from None
    if refusal:
        raise BadInput(f"{where} that it will not say: the model refuses these texts")
    if choice.get("finish_reason") == _CUT_SHORT:
        raise EndpointDown(f"{where} with half of an answer; raise judging.answer_tokens")
    if not isinstance(content, str):
        raise EndpointDown(f"{where} with a completion without text; nothing of it is used")
    try:
        answer = prompts.read(kind, content)
    except BadInput as error:
        raise EndpointDown(f"{where}, but {error}; try another judging.model") from error
    return Completed(answer, tokens_of(document), tokens_of(document, "completion_tokens"))


log = logging.getLogger("cortex.judge")

#: What the endpoint is asked for.
CHAT = Use("judging", "judging", "chat/completions", "a chat completions API")

#: Bytes an answer may have: a thousand tokens are some 5,000, thoughts and envelope included.
MOST = 262_144


class LanguageLayer:
    """A language model behind HTTP, asked at temperature 0 and with a seed.

    Nothing is sent before the first question. An endpoint that fails several times in a row is left
    alone for a while; what only a person can mend (a key, a model's name, an address) makes it
    `missing`, and it is tried again after a minute.
    """

    decider = Decider.LLM
    edition = prompts.EDITION
    kinds = frozenset(Kind)
    bulk = 1
    is_metered = True

    def __init__(
        self,
        settings: JudgingSettings,
        clock: Clock,
        *,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Check the address; nobody is asked yet."""
        self.at_once = settings.at_once
        self._settings = settings
        self._clock = clock
        self._name = f"openai:{settings.model}@{host_of(settings.base_url)}"
        self._breaker = Breaker(failures=settings.breaker_failures, pause=settings.breaker_pause_s)
        self._form, self._is_proven = 0, False
        self._why, self._until = "", 0.0
        self._counts = dict.fromkeys(("read", "written", "unusable", "held_back"), 0)
        self._has_answered = False
        self._client: Client | None = None
        try:
            self._client = Client(CHAT, settings, clock=clock, breaker=self._breaker, chance=chance)
        except EndpointUnusable as error:
            self._why = str(error)

    @property
    def model_id(self) -> str:
        """Name and host of the model; empty where the address cannot be used."""
        return self._name if self._client else ""

    def describe(self) -> LayerInfo:
        """Return how it is."""
        sent = {"requests": 0, "retries": 0}
        if self._client is not None:
            sent = {"requests": self._client.requests, "retries": self._client.retried}
        counts = {**sent, **self._counts, "breaker_opened": self._breaker.opened}
        return LayerInfo(self.decider, self._name, self._state(), self._reason(), counts)

    async def live(self) -> None:
        """Close the connections at the end."""
        try:
            await asyncio.Event().wait()
        finally:
            if self._client is not None:
                await self._client.close()

    async def answers(self, questions: Sequence[Question]) -> list[Told]:
        """Return an answer or an error for each question."""
        return [await self._told(each) for each in questions]

    def accepts(self, kind: Kind, answer: object) -> bool:
        """Return whether an answer has the shape of its kind."""
        return prompts.accepts(kind, answer)

    def judged(self, answer: Answer) -> Judgement | None:
        """Return what a comparison says; None when the model is guessing."""
        return prompts.judgement_of(answer)

    async def _told(self, question: Question) -> Told:
        """Return what the model says to one question, or why it says nothing that can be used."""
        try:
            return await self._answer(question)
        except EndpointUnusable as error:
            return JudgeMissing(str(error))
        except EndpointDown as error:
            return JudgeDown(str(error))
        except CortexError as error:
            return error

    async def _answer(self, question: Question) -> Answer:
        """Ask, and hand on what stands the test."""
        if self._client is None or self._clock.monotonic() < self._until:
            raise EndpointUnusable(self._why)
        try:
            content = quoted(question)
        except CortexError:
            self._counts["held_back"] += 1
            raise
        try:
            told = await self._in_some_form(self._client, question.kind, content)
        except EndpointUnusable as error:
            # Noted here and not for each asker: one who is sent away puts off no look.
            self._why, self._until = str(error), self._clock.monotonic() + LOOK_AGAIN
            raise
        self._has_answered, self._why = True, ""
        self._counts["read"] += told.read
        self._counts["written"] += told.written
        answer = _fitting(question, told.answer)
        why = "it is too long" if answer is None else prompts.objection(question, answer)
        if answer is None or why is not None:
            self._counts["unusable"] += 1
            raise BadInput(f"what {self._name} wrote is not used: {why}")
        return answer

    async def _in_some_form(self, client: Client, kind: Kind, content: str) -> Completed:
        """Ask for JSON as strictly as the server can; a form that has worked is kept."""
        while True:
            form = self._form
            try:
                told = await self._asked(client, kind, content, form=FORMATS[form])
            except BadInput:
                if self._is_proven:
                    raise
                if form + 1 == len(FORMATS):  # it was the text, not the form
                    self._form = 0
                    raise
                self._form = max(self._form, form + 1)
            else:
                self._is_proven = True
                return told

    async def _asked(self, client: Client, kind: Kind, content: str, *, form: str) -> Completed:
        """Send one request."""
        settings = self._settings
        document = request(settings.model, kind, content, form=form, tokens=settings.answer_tokens)
        read = partial(completed, kind=kind, endpoint=client.endpoint)
        until = self._clock.monotonic() + LONGEST_CALL
        return await client.ask(document, read, most=MOST, until=until)

    def _state(self) -> State:
        now = self._clock.monotonic()
        if self._client is None or now < self._until:
            return State.MISSING
        if self._breaker.refusal(now):
            return State.DOWN
        is_closed = self._breaker.position is Position.CLOSED
        return State.READY if is_closed and self._has_answered else State.IDLE

    def _reason(self) -> str:
        """Return why it cannot be asked now; empty when it can."""
        if self._state() is State.MISSING:
            return self._why
        return self._breaker.refusal(self._clock.monotonic())


def _fitting(question: Question, answer: Answer) -> Answer | None:
    """Return an answer in the room it has, its reasons fit to be shown; None when it has none."""
    if question.kind is Kind.COMPARE:
        return {
            **answer,
            "reason": visible(mask_secrets(str(answer["reason"])).text)[: prompts.REASON],
        }
    if question.kind is not Kind.SUMMARISE:
        return answer
    text = prompts.cut(str(answer["text"]), int(question.quoted["most"]))
    return None if text is None else {**answer, "text": text}
