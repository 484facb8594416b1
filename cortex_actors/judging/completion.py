"""What a chat completions API is sent, and its answer, read with suspicion. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cortex_actors.endpoint.replies import document_of, said, tokens_of
from cortex_actors.errors import BadInput, EndpointDown
from cortex_actors.judging import answers, prompts

if TYPE_CHECKING:
    from cortex_actors.endpoint.address import Endpoint
    from cortex_actors.endpoint.replies import Answer as Reply
    from cortex_actors.judging.layer import Answer
    from cortex_actors.judging.question import Kind

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
        wanted = {"name": str(kind), "strict": True, "schema": answers.schema(kind)}
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
    document = document_of(reply, endpoint, where=where)
    if "choices" not in document and "error" in document:
        raise EndpointDown(f"{where} with an error{said(reply.body, endpoint.key)}")
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
        answer = answers.read(kind, content)
    except BadInput as error:
        raise EndpointDown(f"{where}, but {error}; try another judging.model") from error
    return Completed(answer, tokens_of(document), tokens_of(document, "completion_tokens"))
