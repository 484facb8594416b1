"""Which words of a statement it wants, which it forbids, and which it ties to a condition.

A word is against what follows it ("never use tabs"), what follows a word of contrast is unwanted
beside what stands before it ("spaces over tabs"), and what may be only under a condition is neither
wanted nor forbidden as such. The words that turn a statement are a table (`tables/words.toml`).
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cortex_actors.text.lexicon import Lexicon, Word, Wording

#: Signs that end a clause; what was forbidden before them does not reach beyond.
_ENDS = frozenset(".;!?()\u2014\u2192\u3002\uff1b|")

#: Before a full stop that ends no clause.
_SHORTENED = frozenset({"e.g", "i.e", "etc", "vs", "cf"})

#: Between two verbs of one clause: the second one is under what the first is under.
_JOINING = frozenset({"or", "and", "to", "nor", ",", "oder", "und", "/"})

#: How many words an auxiliary stands before its participle at most: "must not ever be used".
_NEAR = 4

_BEING = frozenset("is are be was were being been get gets stays stay must should may can".split())
_TESTING = frozenset({"if", "whether", "when", "or", "why", "because"})


class Sense(Enum):
    """What a statement does with a word."""

    WANTED = 1
    AGAINST = -1
    #: Wanted under a condition, or the condition itself.
    ONLY = 0
    #: Forbidden but under a condition.
    BARRED = -2
    #: Named beside another thing, without taking sides.
    BESIDE = 2


def senses(wording: Wording, lexicon: Lexicon) -> tuple[Sense, ...]:
    """Return the sense of each word, in their order.

    A word that turns the statement has the sense that held before it.
    """
    return tuple(_Walk(wording.words, lexicon).walked())


class _Walk:
    """One way through the words of a statement, from left to right."""

    def __init__(self, words: tuple[Word, ...], lexicon: Lexicon) -> None:
        self._words = words
        self._cues = lexicon.cues
        self._senses = [Sense.WANTED] * len(words)
        self._now = Sense.WANTED
        #: Where the clause began, where its "not" stands, and where a "prefer" or an "only" does.
        self._began = 0
        self._against = -1
        self._preferring = -1
        self._only = -1
        #: Whether the clause is against others than what it names.
        self._others = False
        #: Whether it is against what a verb such as "remove" does away with.
        self._undoing = False
        #: What holds outside the parenthesis that is open.
        self._outside: list[tuple[Sense, int, int]] = []

    def walked(self) -> list[Sense]:
        for number, word in enumerate(self._words):
            self._senses[number] = self._now
            if word.code:
                continue
            text = word.text
            if not word.is_word:
                self._sign(number, text)
                continue
            # Turn the sense where a word is one that turns it.
            if not (self._frees(number, text) or self._passive(number, text)):
                self._turns(number, text)
            self._note(number, text)
        return self._senses

    def _sign(self, number: int, sign: str) -> None:
        """Begin a new clause where a sign ends one."""
        if sign == ":" and self._against == number - 1:
            return
        if sign == "." and number and self._words[number - 1].text in _SHORTENED:
            return
        if sign == "(":
            self._outside.append((self._now, self._against, self._began))
            # "Do not use other managers (npm, yarn)" is against those, too.
            inside = Sense.AGAINST if self._others else self._now
            self._begin(number + 1)
            self._now = inside
        elif sign == ")" and self._outside:
            self._now, self._against, self._began = self._outside.pop()
        elif sign in _ENDS or sign == ":" or (sign == "," and self._now is Sense.BESIDE):
            self._begin(number + 1)

    def _begin(self, number: int) -> None:
        self._now, self._began, self._against = Sense.WANTED, number, -1
        self._preferring = self._only = -1
        self._others = self._undoing = False

    def _frees(self, number: int, text: str) -> bool:
        """End or soften what the clause is against; tell whether the word does that."""
        cues = self._cues
        if number == self._began and text in cues["supposing"]:
            self._now = Sense.BESIDE
        elif self._now is not Sense.AGAINST:
            return False
        elif text in cues["until"]:
            self._tie(self._against, number, Sense.BARRED)
        elif text in cues["inverting"] and (0 < number - self._against <= _NEAR - 1):
            self._now = Sense.WANTED
        elif text in cues["others"]:
            self._others, self._now = True, Sense.BESIDE
        elif self._undoing and text in cues["instead_of_it"]:
            self._now, self._undoing = Sense.WANTED if text != "from" else Sense.BESIDE, False
        else:
            return False
        return True

    def _passive(self, number: int, text: str) -> bool:
        """Turn what stands before a participle: "comments are forbidden", "are not needed"."""
        if text in self._cues["forbidden"] and not self._is_under(number):
            if not self._is_said(number):
                return False
            self._turn_back(number, Sense.AGAINST)
            return True
        if text in self._cues["allowed"] and self._is_passive(number):
            self._turn_back(number, Sense.AGAINST)
            self._now = Sense.WANTED
            return True
        return False

    def _turns(self, number: int, text: str) -> None:
        """Turn what follows a word."""
        cues = self._cues
        if text in cues["tying"]:
            self._now = Sense.ONLY
        elif text in cues["undoing"] and self._is_verb(number):
            self._now, self._against, self._undoing = Sense.AGAINST, number, True
        elif text in cues["against"]:
            self._deny(number)
        elif self._is_contrast(number, text):
            self._now, self._against = Sense.AGAINST, number
        elif text in {"vs", "versus"}:
            # Take no side between what is compared.
            self._turn_back(number, Sense.BESIDE)
            self._now = Sense.BESIDE
        elif (text in cues["towards"] or text in cues["acting"]) and not self._is_under(number):
            self._now, self._against = Sense.WANTED, -1

    def _is_said(self, number: int) -> bool:
        """Whether a participle is said of what stands before: "is omitted", "are off"."""
        before = self._words[max(self._began, number - 3) : number]
        return any(each.text in _BEING for each in before)

    def _is_verb(self, number: int) -> bool:
        """Whether a word is the verb of its clause."""
        return number == self._began or self._words[number - 1].text in self._cues["modal"]

    def _note(self, number: int, text: str) -> None:
        """Remember the words that another one later looks back to."""
        if text in self._cues["preferring"]:
            self._preferring = number
        if text in self._cues["only"] and self._now is Sense.WANTED:
            self._only = number
        elif self._only >= 0 and text in self._cues["when"] and number - self._only <= _NEAR * 3:
            self._tie(self._began, number, Sense.ONLY)
            self._only = -1

    def _deny(self, number: int) -> None:
        """Turn against what follows, unless it only asks, or denies a denial."""
        before = self._words[number - 1].text if number > self._began else ""
        after = self._words[number + 1].text if number + 1 < len(self._words) else ""
        if before in _TESTING or after in {"only", "just", "necessarily"}:
            return
        if self._now is Sense.AGAINST and number - self._against == 1:
            return
        self._now, self._against = Sense.AGAINST, number

    def _is_under(self, number: int) -> bool:
        """Whether a verb is still what the clause is against: "do not use", "never add or use"."""
        if self._against < 0:
            return False
        between = self._words[self._against + 1 : number]
        return not between or between[-1].text in _JOINING - {","} or len(between) == 1

    def _is_passive(self, number: int) -> bool:
        """Whether "not allowed", "is not needed" stands here, said of what stands before."""
        if self._against < 0 or number - self._against > _NEAR or self._against == self._began:
            return False
        between = self._words[self._against - 1 : number]
        return any(each.text in _BEING for each in between)

    def _is_contrast(self, number: int, text: str) -> bool:
        """Whether what follows is what is not wanted, beside what stands before."""
        after = self._words[number + 1].text if number + 1 < len(self._words) else ""
        if f"{text} {after}" in self._cues["contrasts"]:
            return True
        if text in self._cues["contrast"]:
            return number > self._began
        return (
            text == "to"
            and self._preferring >= self._began
            and self._now is Sense.WANTED
            and after not in self._cues["purposes"]
        )

    def _turn_back(self, number: int, sense: Sense) -> None:
        """Give the words of the clause so far another sense."""
        for each in range(self._began, number):
            self._senses[each] = sense

    def _tie(self, since: int, number: int, sense: Sense) -> None:
        """Tie what was said since a word to a condition, which follows."""
        for each in range(max(since, self._began), number):
            self._senses[each] = sense
        self._senses[number] = self._now = Sense.ONLY
        self._against = -1
