"""How likely a hit answers a question: what its score says, in every question and of every hit.

Five things tell: how near the hit is in meaning, what share of the question's words it holds (each
weighed by how rare it is), how many words that are, whether it is of the project that the question
is about, and of a statement its place in the list of all that shares words with the question. A
logistic function makes a chance of them, and hits are ordered by it.

A statement is compared under its headings. Of a word of the question counts how near the nearest
word of the text is to it: in the vectors that the embedding model begins with, where there are
some (`Pieces`), else whether it is the same word.

What a question is about: the followed projects whose names are in it, and the question without
these names, which say where to look and not for what.

A name has no near words: it is held by a text that has it, and by no other. Where a number is asked
for, a text without one holds less.

Pure. The numbers were fitted on 114 questions about 60 repositories, by people who read the files
(80 of them are the part `dev` of `benchmarks/questions.tsv`), leaving out an eighth of the
repositories at a time; what leading the list of words counts, on 200 likewise.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from cortex_actors.text.lexicon import stem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from cortex_actors.rules.ranking.rerank import Pieces


class Odds(NamedTuple):
    """What the logarithm of the odds is made of.

    Attributes:
        base: what there is without the others.
        cosine: for a cosine of 1.
        held: for all words of the question.
        words: for each word of the question.
        meant: for a text of the project that is meant.
        led: for the first in the list of words, alone; for the n-th an n-th of it.

    """

    base: float
    cosine: float
    held: float
    words: float
    meant: float
    led: float


#: With the model's word pieces, and where only the same words count. (The area under the curve of
#: answerable and unanswerable questions was .91 either way without `led`; of the right places .90
#: and .88 were among the first three sections.) With pieces a word that is nearly the same counts
#: nearly as much. The list of words holds the same ones alone: with .6 for its first 5 more of 200
#: answers are among the first three and none fewer, with .4 to 1.0 2 to 5 more. Without pieces: no
#: more.
PIECES: Final = Odds(-10.0, 5.4, 4.25, 0.46, 2.9, 0.6)
PLAIN: Final = Odds(-8.35, 6.8, 1.9, 0.39, 2.7, 0.0)

#: Words that count at least and at most: the questions that this was fitted on have up to eight.
FEWEST_WORDS, MOST_WORDS = 3, 8

#: One or two words are no question but what is looked for: a text that holds them is as near as
#: that, and they count as many as most questions have.
BARE, FOUND, USUAL = 2, 0.65, 5

#: Cosine of a hit that was not compared: about that of a text which shares the subject.
UNKNOWN: Final = 0.4

#: The chance below which a hit is marked as weak: so are the first hits of 43 of 56 questions that
#: nothing answers, 46 of 100 wrong hits among the first three, and 22 of 100 right ones.
WEAK: Final = 0.2

#: How far a project is meant, at least, by a question that is about none. By 0 such a question was
#: held for less sure of its answer than one about a project is of a wrong one: the area under the
#: curve of 184 of the benchmark's questions was .84, and is .87 with this.
ANYONES: Final = 0.5

#: What the names of models begin with whose cosines say how many words two texts share, and not how
#: near they are in meaning: the share of the words says that already.
_COUNTING: Final = "hashing-"

#: Texts among which a word is at least thought to be counted: in a home of few texts one that all
#: of them hold tells something still.
TEXTS: Final = 1_000

#: Nearness of two words below which they have nothing to do with each other.
FAR: Final = 0.3

#: What vectors of pieces are multiplied with, to be whole numbers of a byte.
_SCALE: Final = 127

#: Folders that are called by what is in them: their names are words like others.
_GENERAL = frozenset(
    "api app apps backend client code common config core data doc docs framework frontend infra js"
    " lib main project public py repo repository scripts server shared site src test tests tools"
    " web website".split()
)

#: Words by which a question says that it asks for a project.
_ASKING = frozenset("project projects repo repos repository repositories".split())

#: What a text without a number lacks where one is asked for, as a share of the question. All right
#: answers to six such questions have one, and a quarter of the texts that were compared with them.
NUMBERLESS: Final = 0.35

#: The number of no piece.
_NONE: Final = -1

#: Words of a project's name, and of a name that is in a question, at most.
_LONG: Final = 6

_WORD = re.compile(r"[^\W_]+")
#: A word with a capital, but for the first of a sentence, or with one inside.
_NAME = re.compile(r"(?<=[\w,;] )[A-Z]\w*|\b\w+[A-Z]\w*")
_ASKS_NUMBER = re.compile(
    r"(?i)\bhow (?:many|much|long|often|big|large|old|wide)\b"
    r"|\b(?:what|which) (?:\w+ )?(?:port|version|number|size|limit)\b"
)
_NUMBER = re.compile(r"(?i)\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|twice)\b")


class Aim(NamedTuple):
    """What a question is about.

    Attributes:
        text: the question without the names of projects; the question where nothing else is left.
        named: the ids of the projects that it names.

    """

    text: str
    named: frozenset[str] = frozenset()


def score(
    cosine: float | None,
    held: float,
    *,
    words: int,
    meant: float,
    led: float = 0.0,
    odds: Odds = PLAIN,
) -> float:
    """Return the chance that a hit answers a question, 0 to 1.

    `held` is the share of the question's words that it holds, by weight, and `words` how many
    those are (`count_telling`). `meant` is 1 for what is of a project that the question is about, 0
    for what is of another, and `weigh_unaimed` where it is about none. `led` is 1 / the place of a
    statement in the list of words, alone; 0 for what is not in it.
    """
    near = UNKNOWN if cosine is None else cosine
    many = max(min(words, MOST_WORDS), FEWEST_WORDS)
    if not words:
        near, many = max(near, FOUND * held), USUAL
    sure = odds.base + odds.cosine * near + odds.held * held + odds.words * many
    return 1.0 / (1.0 + math.exp(-sure - odds.meant * meant - odds.led * led))


def weigh_unaimed(projects: int, *, odds: Odds = PLAIN) -> float:
    """Return how far each of so many projects is meant by a question that is about none, 0 to 1.

    Any of them may be: the odds of each are an N-th, but of many never less than `ANYONES`.
    """
    return max(ANYONES, 1.0 - math.log(max(projects, 1)) / odds.meant)


def tells(model: str) -> bool:
    """Say whether the cosines of a model's vectors tell how near texts are in meaning."""
    return not model.startswith(_COUNTING)


def rarity(holding: int, texts: int) -> float:
    """Return what a word weighs that so many of those texts hold (BM25's, never below 0)."""
    return math.log1p((max(texts, TEXTS, holding) - holding + 0.5) / (holding + 0.5))


def find_subject(question: str, projects: Iterable[tuple[str, str, str | None]]) -> Aim:
    """Return what a question is about; of each project given are its id, name and repository.

    Of names that lie in one another the longest counts ("react-router" is not "react"). Blanks and
    marks in a name make no difference.
    """
    names: dict[str, set[str]] = {}
    for project, name, origin in projects:
        for each in filter(None, _names(name, origin)):
            names.setdefault(each, set()).add(project)
    words = list(_WORD.finditer(question))
    named: set[str] = set()
    rest, place, end = "", 0, 0
    while place < len(words):
        for count in range(min(_LONG, len(words) - place), 0, -1):
            found = "".join(each[0].lower() for each in words[place : place + count])
            if found in names:
                named |= names[found]
                rest += question[end : words[place].start()]
                end = words[place + count - 1].end()
                place += count - 1
                break
        place += 1
    rest = " ".join((rest + question[end:]).split())
    return Aim(rest if _WORD.search(rest) else question, frozenset(named))


def _names(name: str, origin: str | None) -> Iterable[str]:
    """Yield how a project may be called, without blanks and marks."""
    *_, owner, repository = ["", "", *(origin or "").removesuffix(".git").split("/")]
    for each in (name, repository):
        words = _WORD.findall(each.lower())
        while words and words[-1] in _GENERAL:  # "atlas-server" is called atlas, too
            yield "".join(words if len(words) > 1 else [])
            words.pop()
        yield "".join(words)
    if owner and repository:
        yield "".join(_WORD.findall(f"{owner}{repository}".lower()))


def weigh_telling(weights: Mapping[str, float]) -> dict[str, float]:
    """Return the words that say what is asked for, with their weights; all where none does."""
    return {word: each for word, each in weights.items() if word not in _ASKING} or dict(weights)


def count_telling(text: str, weights: Mapping[str, float]) -> int:
    """Return how many words of a question tell something; 0 of a word or two alone."""
    return 0 if len(_WORD.findall(text)) <= BARE else len(weights)


def weigh_shares(
    weights: Mapping[str, float],
    texts: Sequence[str],
    *,
    pieces: Pieces | None = None,
    question: str = "",
) -> list[tuple[float, bool]]:
    """Return for each text the share of the words that it holds, by weight, and if it holds any.

    Nearly the same word counts as far as it is near; held is one that is the same. `question` is
    looked at for names, and whether it asks for a number.
    """
    total = sum(weights.values())
    if not (total and texts):
        return [(0.0, False)] * len(texts)
    near = _nearness(list(weights), texts, pieces=pieces)
    names = set(_WORD.findall(" ".join(_NAME.findall(question)).lower()))
    strict = [word in names for word in weights]
    near[strict] *= near[strict] > 1 - 1 / _SCALE
    found = np.array(list(weights.values())) @ near / total
    if _ASKS_NUMBER.search(question):
        found -= NUMBERLESS * np.array([not _NUMBER.search(each) for each in texts])
    same = near.max(axis=0) > 1 - 1 / _SCALE
    return list(zip(found.tolist(), same.tolist(), strict=True))


def flatten_rises(chances: Sequence[float]) -> list[float]:
    """Return the chances nearest to those that never rise from one place to the next.

    Of a list in an order of its own: places that would rise share their mean (pool adjacent
    violators: Ayer and others, 1955).
    """
    blocks: list[tuple[float, int]] = []
    for each in chances:
        total, count = each, 1
        while blocks and blocks[-1][0] * count < total * blocks[-1][1]:
            before, places = blocks.pop()
            total, count = total + before, count + places
        blocks.append((total, count))
    return [total / count for total, count in blocks for _ in range(count)]


def _nearness(
    asked: Sequence[str], texts: Sequence[str], *, pieces: Pieces | None
) -> NDArray[np.float32]:
    """Return how near the nearest word of each text (columns) is to each that is asked (rows)."""
    cut = _stems(asked) if pieces is None else pieces.cut
    rows = [held if len(held := cut(text)) else [_NONE] for text in texts]
    own = [[*dict.fromkeys(cut(word))] or [_NONE - 1] for word in asked]
    lengths, counts = (np.array([len(row) for row in some]) for some in (rows, own))
    unique, places = np.unique(np.concatenate(rows), return_inverse=True)
    mine = np.array([piece for row in own for piece in row])
    if pieces is None:
        every = (mine[:, None] == unique).astype(np.float32)
    else:
        left, right = (pieces.vectors[some].astype(np.float32) / _SCALE for some in (mine, unique))
        every = left @ right.T
        every[(every < FAR) | (unique < 0) | (mine < 0)[:, None]] = 0.0
    best = np.maximum.reduceat(every[:, places], np.cumsum(lengths) - lengths, axis=1)
    sums = np.add.reduceat(best, np.cumsum(counts) - counts, axis=0)
    found: NDArray[np.float32] = (sums / counts[:, None]).astype(np.float32)
    return found


def _stems(asked: Iterable[str]) -> Callable[[str], list[int]]:
    """Return what gives those words numbers in a text, one for all forms of a word."""
    words = (stem(each) for some in asked for each in _WORD.findall(some.lower()))
    numbers = {each: at for at, each in enumerate(dict.fromkeys(words))}

    def cut(text: str) -> list[int]:
        held = numbers.keys() & map(stem, _WORD.findall(text.lower()))
        return [numbers[each] for each in held]

    return cut
