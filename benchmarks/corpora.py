"""The collections that retrieval is judged on, as their authors published them.

LoCoMo (Maharana and others, ACL 2024): long conversations, with questions whose evidence is named
by turn. Cranfield: abstracts, queries and graded judgements. STS benchmark: pairs of sentences with
how alike people found them. Nothing here is part of the product; files are given by path.
"""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

#: How LoCoMo names a turn: session and number.
_TURN = re.compile(r"D\d+:\d+")

_SESSION = re.compile(r"session_(\d+)")

#: A field of a Cranfield file: title, authors, bibliography, words.
_FIELD = re.compile(r"^\.([TABW])\n(.*?)(?=^\.[TABW]\n|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker said at once."""

    id: str
    session: int
    speaker: str
    text: str
    #: When the session was, as the file writes it; empty where it does not say.
    date: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and what is relevant to it: id -> grade, above 0."""

    text: str
    relevant: Mapping[str, int]
    #: LoCoMo's number of its kind; 0 for none.
    category: int = 0


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation of many sessions, and what is asked of it."""

    id: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """One abstract."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sentences, and how alike they are, 0 to 5."""

    left: str
    right: str
    alike: float


def locomo(path: Path) -> list[Conversation]:
    """Return the conversations with every question whose evidence is there."""
    return [
        _conversation(each, number)
        for number, each in enumerate(json.loads(path.read_text("utf-8")))
    ]


def cranfield(folder: Path) -> tuple[list[Document], list[Question]]:
    """Return the abstracts and the queries that have judgements.

    A query's number in the judgements is its place in the file, not the number it is given there.
    """
    documents = [
        Document(number, _line(fields.get("T", "")), _line(fields.get("W", "")))
        for number, fields in _records(folder / "cran.all.1400")
    ]
    grades: dict[int, dict[str, int]] = {}
    for line in (folder / "QRelsCorrectedforTRECeval").read_text("ascii").splitlines():
        query, _, document, grade = line.split()
        if int(grade) > 0:
            grades.setdefault(int(query), {})[document] = int(grade)
    queries = [_line(fields.get("W", "")) for _, fields in _records(folder / "cran.qry")]
    asked = [
        Question(text, grades[place])
        for place, text in enumerate(queries, start=1)
        if place in grades
    ]
    return [each for each in documents if each.text], asked


def sts(path: Path) -> list[Pair]:
    """Return the pairs of sentences."""
    with path.open(encoding="utf-8", newline="") as file:
        return [Pair(left, right, float(alike)) for left, right, alike in csv.reader(file)]


def _conversation(found: dict[str, Any], number: int) -> Conversation:
    """Return one conversation of the file."""
    said = found["conversation"]
    sessions = sorted(int(match[1]) for match in map(_SESSION.fullmatch, said) if match)
    turns = tuple(
        Turn(each["dia_id"], session, each["speaker"], each["text"], _date(said, session))
        for session in sessions
        for each in said[f"session_{session}"]
        if each["text"].strip()
    )
    known = {turn.id for turn in turns}
    questions = (_question(each, known) for each in found["qa"])
    name = str(found.get("sample_id", number))
    return Conversation(name, turns, tuple(each for each in questions if each))


def _question(found: dict[str, Any], known: set[str]) -> Question | None:
    """Return a question, or None where some of its evidence is not in the conversation."""
    named = [_TURN.findall(str(each)) for each in found.get("evidence", [])]
    ids = [each for some in named for each in some]
    if not ids or not all(named) or not known.issuperset(ids):
        return None
    category = int(found.get("category", 0))
    return Question(str(found["question"]), dict.fromkeys(ids, 1), category)


def _date(said: Mapping[str, Any], session: int) -> str:
    """Return when a session was."""
    return str(said.get(f"session_{session}_date_time", ""))


def _records(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the number and the fields of each record of a Cranfield file."""
    for part in re.split(r"^\.I ", path.read_text("latin-1"), flags=re.MULTILINE)[1:]:
        number, _, rest = part.partition("\n")
        yield number.strip(), dict(_FIELD.findall(rest))


def _line(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())
