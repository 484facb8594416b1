"""Which turns of conversations answer a question: word pieces, the turns around, and small rules.

A turn is compared piece by piece: each word piece of the question with the piece of the turn that
is nearest to it (max-sim, as ColBERT has it: Khattab and Zaharia, SIGIR 2020), in the vectors that
the embedding model itself begins with. These depend on the piece alone, so nothing is kept of a
text. A piece may also be met by the turns around, at a discount: an answer seldom repeats what was
asked. Rare pieces weigh more. To that come the cosine of the pair (the turn behind the one before
it) and what the form of question and turn says.

Pure. All numbers were tuned on five conversations of LoCoMo (994 questions) and checked on five
others (983); around each value the figures are flat (docs/search.md).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from cortex_actors.clock import iso
from cortex_actors.text.lexicon import STOP_WORDS
from cortex_actors.text.terms import WORDS_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

#: What vectors are multiplied with, to be whole numbers of a byte.
SCALE: Final = 127

#: Numbers of a piece's vector: the leading components. All 384 of MiniLM's give nothing more.
WIDTH: Final = 64
#: Rows of the table from which words begin: before them come marks and single letters.
WORDS_FROM: Final = 999

#: Characters of a turn that are compared: twice what the model reads of it.
LONGEST: Final = 2_000

#: Turns on either side that a piece may be met in, and what the nearest counts: the ones before
#: more than those after, because a question comes before its answer. Each turn further off counts
#: `FADES` of the one nearer. With 2 turns recall at 10 is .003 less, with 1 .025.
AROUND: Final = 3
BEFORE, AFTER, FADES = 0.85, 0.65, 0.87

#: What a piece of a stop word weighs beside others that are as rare; with 1 recall at 10 is .011
#: less.
STOP: Final = 0.5

#: What the cosine of the pair is worth beside the pieces (.2 to .6: recall at 10 within .004).
COSINE: Final = 0.4
#: A turn that asks does not tell.
ASKS: Final = -0.1
#: It is by the only speaker whom the question names. More would harm questions that name the wrong
#: one: with .14 their recall at 10 is .880 instead of .949, where the fused list has .871.
SPEAKER: Final = 0.07
#: It is of the month, or the day, that the question names.
DATE: Final = 0.2
#: The question asks when, and the turn names a time.
TIME: Final = 0.1

#: Roles that are no names.
_ROLES: Final = frozenset({"", "user", "assistant", "system", "human", "ai", "agent", "tool"})

_WORD = re.compile(r"\w+")
#: A date in brackets with which a turn may begin: of the turn, and none of its words.
_STAMP = re.compile(r"((?:[^\s:\[][^:\[\n]{0,80}: )?)\s*\[([^\[\]\n]{4,60})\]\s*")
_ISO = re.compile(r"\b((?:19|20)\d\d)-(\d\d)-(\d\d)(?!\d)")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_MONTHS = (
    "january february march april may june july august september october november december".split()
)
_ANY = "|".join(_MONTHS)
_MONTH = re.compile(rf"\b(?:{_ANY})\b", re.IGNORECASE)
#: Months that are words as well, unless they begin with a capital.
_WORDS_TOO = ("march", "may")
#: A day beside a month: "7 May", "7th of May", "May 7".
_DAY = re.compile(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th)?,? (?:of )?(?:{_ANY})\b|\b(?:{_ANY}) (\d{{1,2}})\b",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"\s*(?:when|what (?:date|day|month|year|time)|which (?:date|day|month|year)|how long)\b",
    re.IGNORECASE,
)
_TIMES = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|last|next|this|recently|week|weekend|month|year"
    rf"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|{_ANY.replace('|may|', '|')}|(?:19|20)\d\d)\b",
    re.IGNORECASE,
)

#: Similarity of each piece of a question (rows) with turns (columns).
Similar: TypeAlias = "NDArray[np.float32]"


class Pieces(NamedTuple):
    """The word pieces of a model.

    Attributes:
        vectors: one row of `WIDTH` numbers a piece, 127 times a unit vector.
        cut: a text -> the numbers of the pieces of its words; of two words one may be the same.

    """

    vectors: NDArray[np.int8]
    cut: Callable[[str], NDArray[np.int64]]


class Turn(NamedTuple):
    """What was said at once.

    Attributes:
        text: behind "role: " where it has a role.
        speaker: who said it: the role, or the agent.
        at: UTC microseconds when; a date at the beginning of the text goes first.

    """

    text: str
    speaker: str
    at: int


class TurnPlace(NamedTuple):
    """A turn that may be the answer, and the turns around it.

    Attributes:
        turn: its number among the turns.
        before: the numbers of those before it, the nearest first.
        after: of those after it.
        cosine: of the question and its pair; 0 where it was not measured.

    """

    turn: int
    before: Sequence[int]
    after: Sequence[int]
    cosine: float


def score(
    question: str, turns: Sequence[Turn], *, candidates: Sequence[TurnPlace], pieces: Pieces
) -> list[float]:
    """Return what each candidate is worth as an answer, about 0 to 1.5; comparable in one question.

    How rare a piece is counts `turns` alone, which are those that the asker may read. Nothing is
    kept of them for it, and it finds as much as counting the whole conversation does.
    """
    parts = [_parted(turn.text[:LONGEST]) for turn in turns]
    similar, weights = _compared(question, [said for _, said in parts], pieces=pieces)
    met = _met(similar, weights, candidates=candidates)
    speaker, asked = _named(question, turns), _date(question)
    asks_when = _WHEN.match(question) is not None
    found = []
    for worth, one in zip(met.tolist(), candidates, strict=True):
        turn, (stamp, said) = turns[one.turn], parts[one.turn]
        asks = said.rstrip().endswith("?")
        is_named = speaker is not None and turn.speaker.casefold() == speaker
        tells_when = asks_when and _TIMES.search(said) is not None
        date = asked.met_by(_date(stamp or iso(turn.at))) if asked.months else 0.0
        rules = ASKS * asks + SPEAKER * is_named + DATE * date + TIME * tells_when
        found.append(worth + COSINE * one.cosine + rules)
    return found


class _Date(NamedTuple):
    """The months, years and days that a text names; the days only beside a month."""

    months: frozenset[int]
    years: frozenset[int]
    days: frozenset[int]

    def met_by(self, other: _Date) -> float:
        """Return how far another date is the one that is asked for, 0 to 1."""
        if not self.months & other.months:
            return 0.0
        of_year = not self.years or bool(self.years & other.years)
        return of_year * (0.5 if self.days else 1.0) + 0.5 * bool(self.days & other.days)


@lru_cache(maxsize=1_024)
def _date(text: str) -> _Date:
    """Read names of months, or a date as ISO 8601 has it; turns of one day say it alike."""
    if found := _ISO.search(text):
        year, month, day = (frozenset({int(each)}) for each in found.groups())
        return _Date(month, year, day)
    named = [each for each in _MONTH.findall(text) if each not in _WORDS_TOO]
    months = frozenset(_MONTHS.index(each.lower()) + 1 for each in named)
    days = frozenset(int(one or other) for one, other in _DAY.findall(text) if months)
    return _Date(months, frozenset(map(int, _YEAR.findall(text))), days)


def _parted(text: str) -> tuple[str, str]:
    """Return the date with which a turn begins, empty for none, and what it says without it."""
    found = _STAMP.match(text) if "[" in text else None
    if found is None or not _date(found[2]).months:
        return "", text
    return found[2], found[1] + text[found.end() :]


def _named(question: str, turns: Sequence[Turn]) -> str | None:
    """Return the only speaker whom a question names; None where it names none or several."""
    names = {turn.speaker.casefold() for turn in turns} - _ROLES
    asked = question.casefold()
    found = [each for each in names if re.search(rf"\b{re.escape(each)}\b", asked)]
    return found[0] if len(found) == 1 else None


def _compared(
    question: str, texts: Sequence[str], *, pieces: Pieces
) -> tuple[Similar, NDArray[np.float32]]:
    """Return how near the nearest piece of each text is to a question's, and what each weighs.

    The last column is of a text that is not there: 0.
    """
    asked = [(n, w) for w in _WORD.findall(question.lower())[:WORDS_LIMIT] for n in pieces.cut(w)]
    rows = [pieces.cut(text) for text in texts]
    lengths = np.array([len(row) for row in rows])
    similar = np.zeros((len(asked), len(texts) + 1), np.float32)
    if not (asked and lengths.any()):
        return similar, np.zeros(len(asked), np.float32)
    # A question often has a piece twice ("this", "his"): each is compared once.
    mine, again = np.unique([number for number, _ in asked], return_inverse=True)
    flat = np.concatenate(rows)
    there = np.zeros(len(pieces.vectors), np.bool_)  # marking them is quicker than sorting them
    there[flat] = True
    unique = np.flatnonzero(there)
    vectors = pieces.vectors[unique].astype(np.float32) / SCALE
    near = pieces.vectors[mine].astype(np.float32) / SCALE @ vectors.T
    places = (np.cumsum(there) - 1)[flat]
    spoken = np.flatnonzero(lengths)
    starts = (np.cumsum(lengths) - lengths)[spoken]
    best = np.maximum.reduceat(near.take(places, axis=1), starts, axis=1)
    similar[:, spoken] = best[again]
    stop = [STOP if word in STOP_WORDS else 1.0 for _, word in asked]
    held = [np.count_nonzero(np.logical_or.reduceat(flat == number, starts)) for number in mine]
    rare = np.log((len(texts) + 1) / (np.array(held)[again] + 0.5))
    return similar, (rare * stop).astype(np.float32)


def _met(
    similar: Similar, weights: NDArray[np.float32], *, candidates: Sequence[TurnPlace]
) -> NDArray[np.float32]:
    """Return how far each candidate, or a turn around it, meets the weight of the question."""
    none = similar.shape[1] - 1
    best = similar[:, [one.turn for one in candidates]]
    around = [(one.before, one.after) for one in candidates]
    for side, first in enumerate((BEFORE, AFTER)):
        for away in range(AROUND):
            at = [some[side][away] if away < len(some[side]) else none for some in around]
            best = np.maximum(best, first * FADES**away * similar[:, at])
    total = float(weights.sum())
    met: NDArray[np.float32] = weights @ best / total if total else best.sum(axis=0)
    return met
