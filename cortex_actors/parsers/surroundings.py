"""What a statement stands under, and whether that forbids what it says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cortex_actors.parsers.headings import Heading, Trail

#: Characters of a text that a nested one keeps as what it stands under.
_LEAD = 160

#: Words of a label in bold type; more of them say something.
_LABEL_WORDS = 8

_BOLD = re.compile(r"(?:\*\*[^*]+\*\*|__[^_]+__)[:\uff1a]?")
_FRONT = re.compile(r"\W{0,6}([^:.`]{2,60}?)[*_]{0,3}:[*_]{0,3}\s")

#: Headings and labels that forbid what is listed below them, and nothing else.
_FORBIDS = re.compile(
    r"\W*(?:(?:do not|don['\u2019]?ts?|don['\u2019]t do|never(?: do)?|avoid|forbidden|prohibited"
    r"|disallowed|banned|not allowed|bad|wrong|(?:what|things) (?:not to do|to avoid)"
    r"|anti[- ]?patterns?|must not|no-?gos?|never ever|absolutely forbidden|hard no)"
    r"(?: (?:do|this|these|the following|patterns?|practi[cs]es?|actions?|things|commands?|code"
    r"|to avoid|behaviou?rs?|approach|approaches))*)\W*",
    re.IGNORECASE,
)

#: Headings and labels that take that back.
_ALLOWS = re.compile(
    r"\W*(?:do|dos|do['\u2019]s|always|instead|good|right|correct|allowed|required|prefer(?:red)?"
    r"|must|use|recommended)\b.*",
    re.IGNORECASE,
)

#: A sentence that forbids what it introduces: its verb, or a word that wants more, is its last. One
#: with an object of its own (`Avoid large modules:`) forbids that, and not what follows.
_BANS = re.compile(
    r"(?:\b(?:never|avoid|don['\u2019]?t|(?:must|should|can|wo)n['\u2019]t|can['\u2019]t|cannot|not"
    r"|not allowed to|forbidden|prohibited)\b[*_]{0,2}(?: (?!sure)\w+)?(?: any)?"
    r"|\b(?:never|avoid|not|n['\u2019]t)\b.{1,60}"
    r" (?:following|these|that|to|would|as|with|for|of|by|on|in|like|from|any))"
    r"(?: of these| following| things)?[*_ ]{0,4}[:\uff1a][*_ ]{0,4}",
    re.IGNORECASE,
)
#: One that orders what it introduces.
_ASKS = re.compile(
    r"\b(?:must|should|shall|needs? to|ha(?:ve|s) to|required to|always)\b[*_]{0,2}(?: \w+)?"
    r"[*_ ]{0,4}[:\uff1a][*_ ]{0,4}$",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\W*(?:if|when|whenever|why|how|because|where|what|unless|since|for|note)\b", re.IGNORECASE
)

#: Characters of a sentence whose negation reaches what it introduces.
_INTRODUCES = 100

#: How a text begins that forbids by itself.
_NEGATIVE = re.compile(
    r"\W*(?:never|do not|don['\u2019]?t|avoid|no|not|must not|cannot|can['\u2019]t|without|stop)\b",
    re.IGNORECASE,
)


class Surroundings:
    """Headings, the label of the paragraphs below it, and the items that a list is nested in."""

    def __init__(self, trail: Trail) -> None:
        """Begin under some headings."""
        self._trail = trail
        self._label = ""
        self._leads: list[tuple[int, str]] = []

    def head(self, found: Heading) -> None:
        """Come to a heading."""
        self._trail.enter(found)
        self._label, self._leads = "", []

    def label(self, text: str) -> None:
        """Come to a label: it stands until the next one."""
        self._label, self._leads = text, []

    def leave(self, depth: int) -> None:
        """Leave the items that are nested as deep as that."""
        while self._leads and self._leads[-1][0] >= depth:
            self._leads.pop()

    def lead(self, depth: int, text: str) -> None:
        """Come to a text that what is nested deeper belongs to."""
        self.leave(depth)
        self._leads.append((depth, text))

    @property
    def path(self) -> tuple[str, ...]:
        """What a statement stands under now, outermost first."""
        inner = [self._label] if self._label else []
        leads = (text for _, text in self._leads)
        return (*self._trail.texts, *(_short(text) for text in (*inner, *leads)))

    def worded(self, text: str) -> str:
        """Return a list's entry with the words above it that forbid it, unless it has its own."""
        forbids = self._forbids()
        return f"{forbids}: {text}" if forbids and not _NEGATIVE.match(text) else text

    def completed(self, text: str) -> str:
        """Return a list's entry that tells nobody anything with the words that make it an order."""
        lead = self._leads[-1][1] if self._leads else ""
        asks = len(lead) <= _INTRODUCES and not _CONDITION.match(lead) and _ASKS.search(lead)
        return f"{bare(lead)}: {text}" if asks else text

    def _forbids(self) -> str:
        """Return what forbids an entry here, innermost first; empty if nothing does."""
        inner = [text for _, text in self._leads if introduces(text) or is_label(text)]
        for text in (*reversed(inner), self._label, *reversed(self._trail.texts)):
            if text and (_FORBIDS.fullmatch(text) or _introduces_ban(text)):
                return bare(text)
            if text and _ALLOWS.fullmatch(text):
                return ""
        return ""


def is_label(text: str) -> bool:
    """Whether a text only names what follows: a few words in bold type, or up to a colon."""
    if len(text.split()) > _LABEL_WORDS:
        return False
    return _BOLD.fullmatch(text) is not None and not text.strip("*_").endswith((".", "!"))


def introduces(text: str) -> bool:
    """Whether a text ends where what follows begins."""
    return text.rstrip("*_ ").endswith((":", "\uff1a"))


def label_of(text: str) -> str:
    """Return the label that a text begins with, as in `**Style**: use tabs`; else an empty one."""
    found = _FRONT.match(text)
    return found[1].strip("*_ ") if found is not None else ""


def bare(text: str) -> str:
    """Return a label without its bold type and its colon."""
    return text.strip("*_ :\uff1a")


def _introduces_ban(text: str) -> bool:
    """Whether a text forbids what it introduces."""
    return (
        introduces(text)
        and len(text) <= _INTRODUCES
        and not _CONDITION.match(text)
        and _BANS.search(text) is not None
    )


def _short(text: str) -> str:
    """Return what something stands under: a label as it is, of a long text its beginning."""
    plain = bare(text)
    return plain if len(plain) <= _LEAD else f"{plain[: _LEAD - 1].rsplit(' ', 1)[0]}\u2026"
