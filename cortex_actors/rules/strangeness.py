"""Whether a question is about nothing that is known, as far as words and vectors can tell.

A search by meaning always has a nearest text, however far it is. The hits are kept, and a note says
what they are worth.
"""

from __future__ import annotations

#: Cosine below which two texts have nothing to do with each other. Unrelated pairs of texts stay
#: below it with all-MiniLM-L6-v2; models whose unrelated pairs lie higher only never get the note.
UNRELATED = 0.30

#: What is said of hits that share no word with the question and are not near it, either.
NOT_KNOWN = "nothing that is known holds these words; what is shown is the nearest in meaning only"

#: What is said of hits for a question of punctuation or pictures.
NO_WORDS = "the question holds no word that could be looked for"
_MEANING_ONLY = "what is shown is the nearest in meaning only"

#: What tells how a search went, of which no part was left out.
_REMARKS = frozenset({NOT_KNOWN, NO_WORDS, f"{NO_WORDS}; {_MEANING_ONLY}"})


def is_strange(*, named: int, nearest: float | None) -> bool:
    """Tell whether no text holds a word of the question and none is near it.

    `named` counts the texts that hold a word, `nearest` is the best cosine; None for no texts or no
    vector: then there is no hit that could mislead anybody.
    """
    return not named and nearest is not None and nearest < UNRELATED


def without_words(*, nearest: float | None) -> str:
    """Return what is said of a question without a word, whatever its vector is near."""
    return NO_WORDS if nearest is None else f"{NO_WORDS}; {_MEANING_ONLY}"


def is_gap(said: str) -> bool:
    """Tell whether what was said of a search means that a part of it was left out."""
    return said not in _REMARKS
