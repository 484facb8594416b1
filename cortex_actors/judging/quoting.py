"""What is remembered, quoted for a language model: data that cannot end its own quotation. Pure.

A question is one JSON document and nothing else. JSON's own escapes close no string; angle and
square brackets are escaped, too, because the servers of some models read `<|im_end|>` or `[/INST]`
in the middle of a message as its end. Secrets are taken out, and what cannot be seen is written
visibly.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from cortex_actors.errors import Refused
from cortex_actors.text.credentials import mask_secrets
from cortex_actors.text.hazards import suspicion, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex_actors.judging.question import Question

#: What begins the marks that a chat is put together with.
_MARKS = re.compile(r"[<>\[\]]")


def quoted(question: Question) -> str:
    """Return the JSON document that a question's texts are sent as.

    Raises `Refused` for a text that reads as if it were meant for the model: it waits for a person.
    """
    for text in _strings(question.quoted):
        if (why := suspicion(text)) is not None:
            message = f"a text is not shown to a language model: {why}; see: cortex insights"
            raise Refused(message)
    return encoded(question.quoted)


def encoded(value: Any) -> str:  # noqa: ANN401 - any JSON
    """Return a value as JSON whose strings hold no secret, no bracket and nothing hidden."""
    if isinstance(value, str):
        plain = json.dumps(visible(mask_secrets(value).text), ensure_ascii=False)
        return _MARKS.sub(_escaped, plain)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{encoded(k)}: {encoded(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(encoded, value)) + "]"
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


def _escaped(mark: re.Match[str]) -> str:
    return f"\\u{ord(mark[0]):04x}"
