"""The language-model layer: any endpoint that speaks OpenAI's chat completions.

What is sent has no secrets in it and is quoted; what comes back has the shape that was asked for
and names nothing that was made up, or it is no answer.

What a chat completions API is sent, and its answer, read with suspicion. Pure.

What a language model is asked, word for word.

What is remembered, quoted for a language model: data that cannot end its own quotation. Pure.

A question is one JSON document and nothing else. JSON's own escapes close no string; angle and
square brackets are escaped, too, because the servers of some models read `<|im_end|>` or `[/INST]`
in the middle of a message as its end. Secrets are taken out, and what cannot be seen is written
visibly.

Whether what a language model wrote is founded on the texts it was given. Pure.

A model that is wrong is wrong in a plausible way, and what it writes is remembered. So it may not
name an address, a number or a quoted piece of code that no source has; what replaces its sources
may not lose one either; and it may hold no secret, nothing that cannot be seen, and nothing that
reads as if it were meant to take an agent over.

What a language model answers, read with suspicion: one JSON object of the shape that was asked.

The shapes are pydantic models, because one definition then is both the schema that goes out with
the question and the check of what comes back. What such a model tends to get wrong without meaning
anything else is forgiven: a fence around the object, its thoughts in front of it, a wrapper
`{"result": ...}`. Anything else is no answer.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from cortex_actors.domain.insight import Conflict, Decider, Judgement, Relation
from cortex_actors.endpoint.client import (
    LONGEST_CALL,
    LOOK_AGAIN,
    Breaker,
    EndpointClient,
    SwitchPosition,
)
from cortex_actors.endpoint.replies import Endpoint, Use, count_tokens, find_host, read_document
from cortex_actors.errors import (
    BadInput,
    CortexError,
    EndpointDown,
    EndpointUnusable,
    JudgeDown,
    JudgeMissing,
    Refused,
)
from cortex_actors.judging.layer import (
    Answer,
    JudgeQuestion,
    LayerInfo,
    LayerState,
    QuestionKind,
    Told,
)
from cortex_actors.text.hazards import find_hidden, find_suspicion, mask_secrets, show_hidden
from cortex_actors.text.lexicon import load_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cortex_actors.clock import Clock
    from cortex_actors.endpoint.replies import HttpReply as Reply
    from cortex_actors.sections import JudgingSettings

#: Letters of a reason that are kept.
REASON = 300

#: Least confidence that a comparison must come with to count; a model that says less is guessing.
SURE = 0.5

#: What reasoning models write before they answer.
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)

#: One fence around the whole answer.
_FENCE = re.compile(r"\A\s*```[a-zA-Z]*\n(.*)\n```\s*\Z", re.DOTALL)

_Shape: TypeAlias = "type[_Answer]"


class _Answer(BaseModel):
    """One JSON object; what it holds beside its fields is not looked at."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Comparison(_Answer):
    """What two statements are to each other."""

    reason: str
    relation: Relation
    conflict: Conflict | None = None
    confidence: float = Field(ge=0, le=1)


class ChatText(_Answer):
    """A text."""

    text: str

    @field_validator("text")
    @classmethod
    def _filled(cls, text: str) -> str:
        """Refuse a text of nothing."""
        if not (one := " ".join(text.split())):
            raise ValueError("the text is empty")
        return one


def _shape(kind: QuestionKind) -> _Shape:
    """Return the shape of the answers to a kind of question."""
    return Comparison if kind is QuestionKind.COMPARE else ChatText


def make_schema(kind: QuestionKind) -> dict[str, Any]:
    """Return the JSON schema of an answer, as strict as OpenAI's dialect wants it."""
    made: dict[str, Any] = _strict(_shape(kind).model_json_schema())
    return made


def read(kind: QuestionKind, content: str) -> Answer:
    """Return the answer that a model's words hold; raises `BadInput` when they hold none."""
    text = _THOUGHTS.sub("", content, count=1)
    fenced = _FENCE.match(text)
    shape, document = _shape(kind), _json(fenced[1] if fenced else text)
    if isinstance(document, dict) and shape.model_fields.keys().isdisjoint(document):
        # Some clients put a wrapper around the answer.
        inner = document.get("result")
        document = _json(inner) if isinstance(inner, str) else inner
    try:
        return shape.model_validate(document).model_dump(mode="json")
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        message = f"the model's answer to {kind!r} has another shape: {where}: {first['msg']}"
        raise BadInput(message) from None  # pydantic's error would repeat the answer


def accepts(kind: QuestionKind, answer: object) -> bool:
    """Return whether something that was kept is an answer of this shape."""
    try:
        _shape(kind).model_validate(answer)
    except ValidationError:
        return False
    return True


def make_judgement(answer: Answer) -> Judgement | None:
    """Return what a comparison says; None when the model is not sure."""
    told = Comparison.model_validate(answer)
    if told.confidence < SURE:
        return None
    conflict = told.conflict or Conflict.DIRECT
    return Judgement(
        told.relation,
        Decider.LLM,
        " ".join(told.reason.split())[:REASON],
        conflict=conflict if told.relation is Relation.CONTRADICTION else None,
        confidence=told.confidence,
    )


def get_text(answer: Answer) -> str:
    """Return the text that was written."""
    return ChatText.model_validate(answer).text


def _json(text: str) -> object:
    """Return what a text is in JSON; None for what is none."""
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found


def _strict(node: Any) -> Any:  # noqa: ANN401 - a JSON schema is any JSON
    """Return a schema in which every field is there, no other is, and no number has bounds."""
    if isinstance(node, list):
        return [_strict(each) for each in node]
    if not isinstance(node, dict):
        return node
    left_out = {"title", "description", "default", "minimum", "maximum"}
    found = {
        name: {key: _strict(each) for key, each in value.items()}
        if name in {"properties", "$defs"}
        else _strict(value)
        for name, value in node.items()
        if name not in left_out
    }
    if found.get("type") == "object":
        found |= {"additionalProperties": False, "required": list(found["properties"])}
    return found


#: Part of the key of every answer that is kept: a change of a word below is another edition.
EDITION = 2

#: The prompts.
_TABLE = load_table("prompts", package="judging")


def make_system_prompt(kind: QuestionKind) -> str:
    """Return the system prompt, which comes before the quoted texts."""
    task = _TABLE["tasks"][kind]
    return f"{_TABLE['frame']}\n\n{task}\n\n{_TABLE['shape']}\n{json.dumps(make_schema(kind))}"


#: What begins the marks that a chat is put together with.
_MARKS = re.compile(r"[<>\[\]]")


def quote_question(question: JudgeQuestion) -> str:
    """Return the JSON document that a question's texts are sent as.

    Raises `Refused` for a text that reads as if it were meant for the model: it waits for a person.
    """
    for text in _strings(question.quoted):
        if (why := find_suspicion(text)) is not None:
            raise Refused(f"a text is not shown to a language model: {why}; see: cortex insights")
    return encode_value(question.quoted)


def encode_value(value: Any) -> str:  # noqa: ANN401 - any JSON
    """Return a value as JSON whose strings hold no secret, no bracket and nothing hidden."""
    if isinstance(value, str):
        plain = json.dumps(show_hidden(mask_secrets(value).text), ensure_ascii=False)
        return _MARKS.sub(lambda mark: f"\\u{ord(mark[0]):04x}", plain)
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{encode_value(k)}: {encode_value(v)}" for k, v in value.items()) + "}"
        )
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(encode_value, value)) + "]"
    return json.dumps(value)


def _strings(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON
    """Yield every text in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _strings(list(value.values()))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _strings(each)


#: What must not be made up, and how errors name it.
_NAMED = (
    ("the address", re.compile(r"https?://[^\s<>\"')\]]+", re.IGNORECASE)),
    ("the number", re.compile(r"\d+(?:[.,:]\d+)*")),
    ("the code", re.compile(r"`([^`\n]+)`")),
)

#: Something by itself: the number 3 is not named by 3.11.
_WHOLE = r"(?<!\w)(?<!\d[.,:]){}(?!\w|[.,:]\d)"

#: Ends of sentences, behind which a summary may be cut.
_ENDS = re.compile(r"[.!?\u3002](?=\s|$)")


def find_objection(question: JudgeQuestion, answer: Answer) -> str | None:
    """Return why an answer must not be used; None when nothing speaks against it."""
    shown = (show_hidden(mask_secrets(text).text) for text in _strings(question.quoted))
    sources = "\n".join(shown)
    # What of it would be remembered; a comparison has no text.
    for text in _strings(answer.get("text", "")):
        if why := _unfit(text):
            return why
        if missing := _missing(text, sources):
            return f"it names {missing}, which no source has"
    if question.kind is QuestionKind.MERGE and (missing := _missing(sources, str(answer["text"]))):
        return f"it leaves out {missing}"
    return None


def cut_text(text: str, most: int) -> str | None:
    """Return as many whole sentences of a text as fit; None when not even the first does."""
    if len(text) <= most:
        return text
    ends = [match.end() for match in _ENDS.finditer(text) if match.end() <= most]
    return text[: ends[-1]] if ends else None


def _unfit(text: str) -> str | None:
    """Return why a text must not be remembered, whatever its sources are."""
    if find_hidden(text):
        return "it holds letters that cannot be seen"
    if mask_secrets(text).secrets:
        return "it holds what looks like a secret"
    return find_suspicion(text)


def _missing(text: str, there: str) -> str | None:
    """Return the first thing that a text names and another one does not."""
    for what, pattern in _NAMED:
        for each in dict.fromkeys(pattern.findall(text)):
            plain = re.escape(each.rstrip(".,;:"))
            if not re.search(_WHOLE.format(plain), there, re.IGNORECASE):
                return f"{what} {each!r}"
    return None


#: The same question has the same answer, as far as the model can.
TEMPERATURE, SEED = 0, 42

#: Ways to ask a server for JSON, the strictest first: not every server knows all of them.
FORMATS = ("json_schema", "json_object", "text")

#: What a model says that it had to stop for, although it was not done.
_CUT_SHORT = "length"


@dataclass(frozen=True, slots=True)
class Completed:
    """A checked answer, and the tokens the server counted: of the question, of the answer."""

    answer: Answer
    read: int
    written: int


def make_request(
    model: str, kind: QuestionKind, content: str, *, form: str, tokens: int
) -> dict[str, Any]:
    """Return the document of one question; `content` is what it quotes."""
    document: dict[str, Any] = {
        "model": model,
        "messages": [
            {"role": "system", "content": make_system_prompt(kind)},
            {"role": "user", "content": content},
        ],
        "temperature": TEMPERATURE,
        "seed": SEED,
        "max_tokens": tokens,
    }
    if form == "json_schema":
        wanted = {"name": str(kind), "strict": True, "schema": make_schema(kind)}
        document["response_format"] = {"type": form, form: wanted}
    elif form == "json_object":
        document["response_format"] = {"type": form}
    return document


def read_completion(reply: Reply, *, kind: QuestionKind, endpoint: Endpoint) -> Completed:
    """Return what a good answer of the server holds.

    Raises `EndpointDown` for what is no completion, or none of the shape that was asked for, and
    `BadInput` where the model would not answer.
    """
    where = f"{endpoint.named} answered"
    document = read_document(reply, endpoint, where=where, key="choices")
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
        answer = read(kind, content)
    except BadInput as error:
        raise EndpointDown(f"{where}, but {error}; try another judging.model") from error
    return Completed(answer, count_tokens(document), count_tokens(document, "completion_tokens"))


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
    edition = EDITION
    kinds = frozenset(QuestionKind)
    bulk = 1
    is_metered = True

    def __init__(
        self,
        settings: JudgingSettings,
        clock: Clock,
        *,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Check the address; nothing is sent yet."""
        self.at_once = settings.at_once
        self._settings = settings
        self._clock = clock
        self._name = f"openai:{settings.model}@{find_host(settings.base_url)}"
        self._breaker = Breaker(failures=settings.breaker_failures, pause=settings.breaker_pause_s)
        self._form, self._is_proven = 0, False
        self._why, self._until = "", 0.0
        self._counts = dict.fromkeys(("read", "written", "unusable", "held_back"), 0)
        self._has_answered = False
        self._client: EndpointClient | None = None
        try:
            self._client = EndpointClient(
                CHAT, settings, clock=clock, breaker=self._breaker, chance=chance
            )
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

    async def answer_all(self, questions: Sequence[JudgeQuestion]) -> list[Told]:
        """Return an answer or an error for each question."""
        return [await self._told(each) for each in questions]

    def accepts(self, kind: QuestionKind, answer: object) -> bool:
        """Return whether an answer has the shape of its kind."""
        return accepts(kind, answer)

    def read_judgement(self, answer: Answer) -> Judgement | None:
        """Return what a comparison says; None when the model is guessing."""
        return make_judgement(answer)

    async def _told(self, question: JudgeQuestion) -> Told:
        """Return what the model says to one question, or why it says nothing that can be used."""
        try:
            return await self._answer(question)
        except EndpointUnusable as error:
            return JudgeMissing(str(error))
        except EndpointDown as error:
            return JudgeDown(str(error))
        except CortexError as error:
            return error

    async def _answer(self, question: JudgeQuestion) -> Answer:
        """Ask, and return what passes the checks."""
        if self._client is None or self._clock.monotonic() < self._until:
            raise EndpointUnusable(self._why)
        try:
            content = quote_question(question)
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
        why = "it is too long" if answer is None else find_objection(question, answer)
        if answer is None or why is not None:
            self._counts["unusable"] += 1
            raise BadInput(f"what {self._name} wrote is not used: {why}")
        return answer

    async def _in_some_form(
        self, client: EndpointClient, kind: QuestionKind, content: str
    ) -> Completed:
        """Ask for JSON as strictly as the server can; a form that has worked is kept."""
        tokens = self._settings.answer_tokens
        read = partial(read_completion, kind=kind, endpoint=client.endpoint)
        while True:
            form, until = self._form, self._clock.monotonic() + LONGEST_CALL
            document = make_request(
                self._settings.model, kind, content, form=FORMATS[form], tokens=tokens
            )
            try:
                told = await client.ask(document, read, most=MOST, until=until)
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

    def _state(self) -> LayerState:
        now = self._clock.monotonic()
        if self._client is None or now < self._until:
            return LayerState.MISSING
        if self._breaker.explain_refusal(now):
            return LayerState.DOWN
        is_closed = self._breaker.position is SwitchPosition.CLOSED
        return LayerState.READY if is_closed and self._has_answered else LayerState.IDLE

    def _reason(self) -> str:
        """Return why it cannot be asked now; empty when it can."""
        if self._state() is LayerState.MISSING:
            return self._why
        return self._breaker.explain_refusal(self._clock.monotonic())


def _fitting(question: JudgeQuestion, answer: Answer) -> Answer | None:
    """Return an answer in the room it has, its reasons fit to be shown; None when it has none."""
    if question.kind is QuestionKind.COMPARE:
        return {
            **answer,
            "reason": show_hidden(mask_secrets(str(answer["reason"])).text)[:REASON],
        }
    if question.kind is not QuestionKind.SUMMARISE:
        return answer
    text = cut_text(str(answer["text"]), int(question.quoted["most"]))
    return None if text is None else {**answer, "text": text}
