"""Where in a statement things are named, and whether it takes a stand on what it names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.rules.stopwords import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.rules.lexicon import Family, Lexicon
    from cortex_actors.rules.wording import Word

#: Words after a member that make nothing else of it.
_OPEN = STOP_WORDS | frozenset(
    """
    within inside everywhere through without across like such as never exclusively directly must may
    instead rather unless via always preferred required throughout consistently whenever since
    possible either
    """.split()
)

#: Words of a statement up to which whatever it names is what it is about.
_SHORT = 7

#: Words of a clause among which a thing is named first: "Double quotes (enforced by ...)".
_FIRST = 3

#: Words between a thing and the word that chooses it.
_NEAR = 4

#: Words of a clause that says little beside what it names, and words before it at most.
_BRIEF, _EARLY = 9, 12

#: Signs around a thing that is one of a list, and signs that begin a clause.
_LISTING = frozenset({"+", "/", "&"})
_LISTED = frozenset({",", ")", "and", "or", "&"})
#: Words before a thing that are no kind of it.
_ALL = STOP_WORDS | frozenset(
    "use using always prefer name keep source code new file case kebab-case camelcase pascalcase "
    "snake_case react typescript python go all every".split()
)
_PARTS = frozenset(",.;!?()\u2014:|")
_CLAUSE = frozenset(".;!?()\u2014:|")


class Places:
    """Where in a statement things are named, and whether it chooses what is named there."""

    def __init__(self, words: Sequence[Word], lexicon: Lexicon) -> None:
        self.starts = [word.start for word in words]
        self._words = words
        cues = lexicon.cues
        self._choosing = cues["against"] | cues["towards"] | cues["contrast"] | cues["preferring"]
        self._narrowing, self._against = cues["narrowing"], cues["against"]
        self._after = cues["allowed"] | cues["forbidden"] | cues["preferring"] | cues["contrast"]
        self._contrast = cues["contrast"] | cues["towards"]
        self._aside, self._pairs = cues["aside"], cues["contrasts"]
        self._short = sum(each.is_word for each in words) <= _SHORT

    def listed(self, first: int, last: int) -> bool:
        """Whether something is named as one of several: "ruff + mypy", "npm, pnpm and yarn"."""
        before = self._words[first - 1].text if first else ""
        after = self._words[last + 1].text if last + 1 < len(self._words) else ""
        if before in _LISTING or after in _LISTING or self._heads_list(last):
            return True
        among = after in _LISTED and (before == "," or after == ",")
        return before in {",", "("} and among

    def _heads_list(self, last: int) -> bool:
        """Whether something is the first of several: "ESLint, Prettier, and Jest configs"."""
        after = [each.text for each in self._words[last + 1 : last + 4]]
        return after[:1] == [","] and after[-1] in {",", "and", "or"} and after[1:] != after[-1:]

    def words(self, first: int, last: int) -> Sequence[Word]:
        """Return the words of a place."""
        return self._words[first : last + 1]

    def chosen(self, first: int, last: int) -> bool:
        """Whether the statement takes a stand on what it names, instead of mentioning it."""
        words = self._words
        if self.listed(first, last):
            return False
        if first and words[first - 1].text in self._aside and not self._is_contrasted(first):
            return False
        before = words[max(self._since(first), first - _NEAR) : first]
        after = words[last + 1 : min(self._until(last), last + 1 + _NEAR)]
        return (
            self._short
            or any(each.text in self._choosing for each in before)
            or any(each.text in self._after for each in after)
            or self._leads(first)
        )

    def _is_contrasted(self, first: int) -> bool:
        """Whether "instead of" or its like stands before a word."""
        return " ".join(each.text for each in self._words[max(0, first - 2) : first]) in self._pairs

    def is_head(self, family: Family, last: int) -> bool:
        """Whether a member is what is spoken of, not part of the name of something else."""
        after = self._words[last + 1 : last + 5]
        for number, word in enumerate(after):
            two = " ".join(each.text for each in after[number : number + 2])
            if word.text in family.nouns or two in family.nouns or word.text == "manager":
                continue
            ends = not word.is_word or word.code > 0 or word.text[0].isdigit()
            return ends or word.text in _OPEN or word.text in self._contrast
        return True

    def central(self, first: int, last: int) -> bool:
        """Whether the clause that names something says little else, and comes first."""
        since, until = self._since(first), self._until(last)
        says = sum(
            each.is_word and each.text not in STOP_WORDS for each in self._words[since:until]
        )
        return since <= _EARLY and says <= _BRIEF

    def _since(self, number: int) -> int:
        """Return where the clause of a word begins."""
        while number and self._words[number - 1].text not in _CLAUSE:
            number -= 1
        return number

    def _until(self, number: int) -> int:
        """Return where the clause of a word ends."""
        number += 1
        while number < len(self._words) and self._words[number].text not in _CLAUSE:
            number += 1
        return number

    def near(self, needs: frozenset[str], first: int, last: int) -> str | None:
        """Return which of some things the same part of the sentence is about; None for none.

        "Style files are kebab-case" is about style; "all files" and "files" are about all, "".
        """
        begin, end = first, last + 1
        while begin and self._words[begin - 1].text not in _PARTS:
            begin -= 1
        while end < len(self._words) and self._words[end].text not in _PARTS:
            end += 1
        label = begin > 1 and self._words[begin - 1].text == ":"
        for number in range(self._since(begin - 1) if label else begin, end):
            if self._words[number].text in needs:
                before = self._words[number - 1] if number else None
                plain = before is None or not before.is_word or before.text in _ALL
                return "" if plain or first <= number - 1 <= last else before.text if before else ""
        return None

    def says(self, some: frozenset[str], first: int, last: int) -> bool:
        """Whether the clause that names something has one of some words."""
        if not some:
            return False
        clause = self._words[self._since(first) : self._until(last)]
        return any(each.text in some for each in clause)

    def narrowed(self, last: int) -> bool:
        """Whether only some of what is named is spoken of: "comments that restate the code"."""
        return last + 1 < len(self._words) and self._words[last + 1].text in self._narrowing

    def is_alternative(self, first: int) -> bool:
        """Whether something is only one of two ways: "one short line, or no comment"."""
        return first > 0 and self._words[first - 1].text == "or"

    def turned(self, first: int, last: int) -> bool:
        """Whether a word against something stands in a place."""
        return any(each.text in self._against for each in self._words[first : last + 1])

    def _leads(self, first: int) -> bool:
        """Whether something is named among the first words of its clause."""
        since = first
        while since and self._words[since - 1].text not in _CLAUSE and first - since < _FIRST:
            since -= 1
        explains = since > 0 and self._words[since - 1].text == "("
        return first - since < _FIRST and not explains
