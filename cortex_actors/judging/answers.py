"""What a language model answers, read with suspicion: one JSON object of the shape that was asked.

The shapes are pydantic models, because one definition then is both the schema that goes out with
the question and the check of what comes back. What such a model tends to get wrong without meaning
anything else is forgiven: a fence around the object, its thoughts in front of it, a wrapper
`{"result": ...}`, a category that does not exist. Anything else is no answer.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from cortex_actors.domain.insight import Category, Conflict, Decider, Judgement, Relation
from cortex_actors.domain.project import TAGS, Learning
from cortex_actors.errors import BadInput
from cortex_actors.judging.question import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.judging.layer import Answer

#: Letters of a reason that are kept.
REASON = 300

#: Least confidence that a comparison must come with to count; a model that says less is guessing.
SURE = 0.5

#: What reasoning models write before they answer.
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)

#: One fence around the whole answer.
_FENCE = re.compile(r"\A\s*```[a-zA-Z]*\n(.*)\n```\s*\Z", re.DOTALL)

#: Ways to write that there is no domain.
_NO_DOMAIN = frozenset({"", "null", "none"})

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


class Written(_Answer):
    """A text."""

    text: str

    @field_validator("text")
    @classmethod
    def _filled(cls, text: str) -> str:
        """Refuse a text of nothing."""
        if not (one := " ".join(text.split())):
            message = "the text is empty"
            raise ValueError(message)
        return one


class Learnt(_Answer):
    """One learning of a section."""

    content: str
    category: Category
    tags: list[str] = []
    domain: str | None = None
    source_sections: list[str] = []

    @field_validator("content")
    @classmethod
    def _one_line(cls, content: str) -> str:
        """Keep no line ends."""
        return " ".join(content.split())

    @field_validator("category", mode="before")
    @classmethod
    def _known(cls, category: object) -> object:
        """Take a category that does not exist for a fact (as Cerno does)."""
        return category if category in list(Category) else Category.FACT

    @field_validator("tags")
    @classmethod
    def _few(cls, tags: list[str]) -> list[str]:
        """Keep the first five that say something."""
        return list(dict.fromkeys(tag.strip().lower() for tag in tags if tag.strip()))[:TAGS]

    @field_validator("domain")
    @classmethod
    def _named(cls, domain: str | None) -> str | None:
        """Take the ways of writing nothing for nothing."""
        plain = (domain or "").strip().lower()
        return None if plain in _NO_DOMAIN else plain


class Learnings(_Answer):
    """What is worth knowing in a section."""

    learnings: list[Learnt]


#: What is asked -> the shape of its answer.
SHAPES: Mapping[Kind, _Shape] = {
    Kind.COMPARE: Comparison,
    Kind.SUMMARISE: Written,
    Kind.MERGE: Written,
    Kind.DISTIL: Learnings,
    Kind.SYNTHESISE: Written,
}


def schema(kind: Kind) -> dict[str, Any]:
    """Return the JSON schema of an answer, as strict as OpenAI's dialect wants it."""
    made: dict[str, Any] = _strict(SHAPES[kind].model_json_schema())
    return made


def read(kind: Kind, content: str) -> Answer:
    """Return the answer that a model's words hold; raises `BadInput` when they hold none."""
    text = _THOUGHTS.sub("", content, count=1)
    fenced = _FENCE.match(text)
    document = _unwrapped(_json(fenced[1] if fenced else text), SHAPES[kind])
    try:
        return SHAPES[kind].model_validate(document).model_dump(mode="json")
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        message = f"the model's answer to {kind!r} has another shape: {where}: {first['msg']}"
        raise BadInput(message) from None  # pydantic's error would repeat the answer


def accepts(kind: Kind, answer: object) -> bool:
    """Return whether something that was kept is an answer of this shape."""
    try:
        SHAPES[kind].model_validate(answer)
    except ValidationError:
        return False
    return True


def judgement_of(answer: Answer) -> Judgement | None:
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


def text_of(answer: Answer) -> str:
    """Return the text that was written."""
    return Written.model_validate(answer).text


def learnings_of(answer: Answer) -> list[Learning]:
    """Return the learnings; those that say nothing are left out."""
    told = Learnings.model_validate(answer)
    return [
        Learning(
            each.content,
            each.category,
            tags=tuple(each.tags),
            domain=each.domain,
            sections=tuple(each.source_sections),
        )
        for each in told.learnings
        if each.content
    ]


def _json(text: str) -> object:
    """Return what a text is in JSON; None for what is none."""
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found


def _unwrapped(document: object, shape: _Shape) -> object:
    """Return an answer without the wrapper that some clients put around it."""
    if not isinstance(document, dict) or shape.model_fields.keys() & document.keys():
        return document
    inner = document.get("result")
    return _json(inner) if isinstance(inner, str) else inner


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
