"""Whether one sentence that a model wrote may stand for the texts it was made of. Pure.

What is written here speaks in every project, and a model that is wrong is wrong in a plausible way.
So it may contradict none of its sources, name nothing that none of them names, turn or reorder
nothing in words of its own, say hardly a word that none of them says, and hold nothing that a
person would have to look at first. Whoever is not content with it takes the words of one of the
sources, which costs nothing: where it is unclear the sentence is dropped.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from cortex_actors.domain.insight import Claim
from cortex_actors.rules import judgement, needs
from cortex_actors.text.lexicon import STOP_WORDS, standard, wording
from cortex_actors.text.suspicion import wary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.text.lexicon import Lexicon

#: Letters of the longest sentence: what a file is given of a principle is one line of so many.
LONGEST: Final = 300

#: Share of its words, but the commonest, that its sources must have: with less, "and delete all
#: backups" may follow what they say.
FAMILIAR: Final = 0.8

#: Words that turn, weaken, limit or reorder what stands beside them, which the rules do not always
#: see: none of them may be the model's own.
_TURNING = frozenset(
    "not no never none nor neither cannot without skip skips skipping skipped avoid avoids avoiding"
    " ignore ignores ignoring omit omits omitting optional optionally unnecessary needless"
    " needlessly waste wasteful useless pointless may might could unless except only until instead"
    " rather stop stops stopping disable disables disabling remove removes removing drop drops fine"
    " okay ok allow allows allowed permit permitted forbid forbids forbidden prohibited refuse"
    " refuses forget forgets bother hardly rarely seldom sometimes regardless despite before after"
    " nicht kein keine keinen nie niemals ohne".split()
)

#: What is a name wherever it stands: code, what holds a digit, a sign or a capital inside.
_NAMES = re.compile(
    r"`([^`\n]+)`|(?<![\w.])((?:[\w@#~-]*[\d._/@#+~]|[^\W\d_]+[A-Z])[\w.@#/+~-]*\w|\w*\d\w*)"
)

#: Signs beside ASCII that a sentence may have of its own.
_SIGNS = frozenset("\u2018\u2019\u201c\u201d\u2013\u2014\u2026")

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")

#: What is a name inside a sentence: a word with a capital that does not begin it.
_PROPER = re.compile(r"(?<=[\w,;:'\")] )([A-Z][\w-]+)")


def flaw(text: str, sources: Sequence[Claim], *, lexicon: Lexicon | None = None) -> str | None:
    """Return why a sentence must not stand for its sources; None when nothing speaks against it."""
    if len(text) > LONGEST or "\n" in text:
        return f"it is no single line of {LONGEST} letters"
    if (why := wary(text)) is not None:
        return why
    for each in sources:
        against = judgement.gate(Claim(text), Claim(each.text), lexicon=lexicon)
        if against is not None:
            return f"it contradicts a source: {against.reason}"
    said = "\n".join(each.text for each in sources)
    return _turned(text, said) or _ordered(text, sources, lexicon) or _invented(text, said)


def _turned(text: str, said: str) -> str | None:
    """Return the word of a sentence that turns what no source turns so, or a letter of no source.

    A letter that only looks like another one hides a word from every rule.
    """
    strange = {each for each in text if not each.isascii()} - _SIGNS - set(said)
    if strange:
        return f"it has a letter that no source has: {min(strange)!a}"
    own = _turning(text) - _turning(said)
    return f"it says {min(own)!r}, which no source does" if own else None


def _turning(text: str) -> set[str]:
    """Return the words of a text that turn something."""
    words = {each.replace("\u2019", "'") for each in _WORD.findall(text.casefold())}
    return {"not" if each.endswith("n't") else each for each in words} & _TURNING


def _ordered(text: str, sources: Sequence[Claim], lexicon: Lexicon | None) -> str | None:
    """Return what a sentence puts in order as no source does."""
    tables = lexicon or standard()
    known = [need for each in sources for need in needs.needs(each, tables)]
    for own in needs.needs(Claim(text), tables):
        if not any(
            each.comes_first is own.comes_first and not each.thing.isdisjoint(own.thing)
            for each in known
        ):
            return f"it says {own.words!r}, which no source does"
    return None


def _invented(text: str, said: str) -> str | None:
    """Return what a sentence has that no source has."""
    plain = said.casefold()
    for match in [*_NAMES.finditer(text), *_PROPER.finditer(text)]:
        name = next(filter(None, match.groups())).casefold().rstrip(".,;:")
        if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", plain):
            return f"it names {name!r}, which no source does"
    own, known = _stems(text), _stems(said)
    if not own:
        return "it says nothing"
    strange = sorted(own - known)
    if len(own & known) < FAMILIAR * len(own):
        return f"it says what no source says: {', '.join(strange)}"
    return None


def _stems(text: str) -> set[str]:
    """Return the words of a text without their inflection, but the commonest."""
    return {each.stem for each in wording(text).spoken if each.text not in STOP_WORDS}
