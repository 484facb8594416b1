"""What a statement does: it tells somebody to do something, says how it is, or shows it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cortex_actors.domain.project import StatementKind
from cortex_actors.parsers.commands import is_command

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Words that oblige, forbid or choose, in the languages of most instruction files.
_OBLIGES = frozenset(
    "must should shall always never don't dont avoid prefer prefers preferred require requires "
    "required mandatory forbidden prohibited disallowed banned ensure cannot can't recommended "
    "acceptable remember niemals immer muss soll jamais toujours doit siempre nunca debe sempre "
    "deve zawsze nigdy \u0432\u0441\u0435\u0433\u0434\u0430 "
    "\u043d\u0438\u043a\u043e\u0433\u0434\u0430 \u043d\u0435\u043b\u044c\u0437\u044f".split()
)

#: The same in two words, and words that each of them has.
_TOGETHER = re.compile(
    r"\b(?:do not|not allowed|not optional|make sure|needs? to|ha(?:ve|s) to|may not|no longer"
    r"|only (?:when|if|after|use)|instead of|rather than|by default|be sure)\b"
)
_APART = frozenset("not make need needs have has no only instead rather default sure".split())

#: The same where words are not apart.
_SIGNS = re.compile(
    r"\u5fc5\u987b|\u7981\u6b62|\u4e0d\u8981|\u52a1\u5fc5|\u4e0d\u5f97|\u5e94\u8be5|\u8bf7|\u4f18\u5148"
    r"|\u5fc5\u305a|\u3057\u306a\u3044|\u304f\u3060\u3055\u3044|\u3079\u304d|\u3059\u308b\u3053\u3068"
    r"|\uc138\uc694|\uae08\uc9c0|\ud56d\uc0c1"
)

_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")

#: Verbs with which people tell others what to do.
_VERBS = frozenset(
    "abort abstract accept act add adhere adjust adopt advance align allow analyse analyze "
    "annotate answer append apply approach approve archive ask assert assign assume attach "
    "audit be begin bind block break bring build bump bypass cache call cancel cap capture "
    "catch center centralise centralize centre change check choose cite clarify clean clear "
    "close co-locate collapse collect colocate combine comment commit compare complete "
    "compose configure confirm connect consider consolidate construct consult continue "
    "control convert coordinate copy correct cover create debug declare decouple default "
    "defer define delegate delete deliver demonstrate deploy derive describe design "
    "destructure detect determine develop disable discuss display document draft drop edit "
    "eliminate embrace emit enable encapsulate enforce escalate establish evaluate examine "
    "exclude execute exercise exit expect explain explore export expose extend extract fail "
    "favor favour fetch fill filter find finish fix flag focus follow force format gate "
    "generate get give go group guard handle hide highlight honor honour identify implement "
    "import improve include increase indent inform inherit initialise initialize inject "
    "insert inspect install integrate introduce invoke isolate keep label launch lazy-load "
    "lazyload leave let leverage limit link list load localise localize locate lock log look "
    "maintain manage mark match measure memoise memoize merge migrate minimise minimize "
    "mirror mock modify monitor move name navigate never no normalise normalize note notify "
    "omit open opt optimise optimize organise organize override parameterise parameterize "
    "parse pass perform persist pick pin place plan point prefer prefix prepare present "
    "preserve prevent prioritise prioritize proceed produce profile propagate propose protect "
    "prove provide publish pull push put question raise re-use read rebase recheck record "
    "redact reduce refactor refer reference refresh refuse regenerate register reject rely "
    "remove rename render replace reply report reproduce request reserve resolve respect "
    "respond restart restore restrict retain retry return reuse revert review revise rewrite "
    "roll rotate route run sanitize save scan schedule scope search select send separate set "
    "setup share ship show simplify skip solve sort specify split squash stage standardise "
    "standardize start state stay stick stop store stream strip strive structure style "
    "subclass submit suggest summarise summarize support suppress surface switch sync take "
    "target tell test think throw tie track transform translate treat trigger trim trust try "
    "understand update upgrade use utilise utilize validate verify view wait walk want watch "
    "work wrap write".split()
)

#: What follows a verb that is no order but a name: `Build: ...`, `Test files are ...`.
_NAMES = re.compile(r"[*_`]{0,3}\s?[:/-]| (?:is|are|files? (?:are|is|live))\b", re.IGNORECASE)

#: A label in front: `**Style**: use tabs`.
_LABEL = re.compile(r"\W*[^:.]{1,60}?[*_]{0,3}:[*_]{0,3}\s+")

#: What may stand in front of the verb: a condition, or when.
_CONDITION = re.compile(
    r"\W*(?:(?:when|whenever|if|before|after|for|in|on|once|while|unless|until|at|to|as|during|by)\b"
    r"[^,.]{1,160},\s+|(?:then|also|first|next|finally|please|just|instead|and|explicitly|strictly"
    r"|consistently|proactively|generally|carefully|you|yes)\b[,:]?\s+)",
    re.IGNORECASE,
)

_SHOWS = re.compile(
    r"\W*(?:for example|for instance|examples?|e\.g\.?|good|bad|correct|incorrect|wrong|right"
    r"|example(?: \w+){1,2})[*_\s]{0,4}[:,\uff1a]",
    re.IGNORECASE,
)
_EXAMPLES = re.compile(
    r"\W*(?:examples?|example \w+|good|bad|correct|incorrect|samples?)\W*", re.IGNORECASE
)

_CODE = re.compile(r"`([^`]+)`")
_SIDE_BY_SIDE = re.compile(r"(?:`[^`]+`(?:[\s,;/|&+]|and\b|or\b)*)+")

#: Characters of the words around a command, beyond which they say more than what it is for.
_LABEL_MOST = 60


def kind_of(text: str, under: Sequence[str] = ()) -> StatementKind:
    """Return what a statement does, given what it stands under."""
    if _shows_a_command(text):
        return StatementKind.COMMAND
    if _SHOWS.match(text) or (under and _EXAMPLES.fullmatch(under[-1])):
        return StatementKind.EXAMPLE
    if _obliges(_CODE.sub("", text)) or _tells(text):
        return StatementKind.RULE
    return StatementKind.FACT


def _obliges(text: str) -> bool:
    """Whether a text obliges somebody, forbids or chooses; words are looked up, not searched."""
    plain = text.lower().replace("\u2019", "'")
    words = set(_WORD.findall(plain))
    if not words.isdisjoint(_OBLIGES):
        return True
    if not words.isdisjoint(_APART) and _TOGETHER.search(plain):
        return True
    return not plain.isascii() and _SIGNS.search(plain) is not None


def _tells(text: str) -> bool:
    """Whether a text, its label and its condition left out, begins with a verb that tells."""
    rest = text.lstrip("*_\"'([ \u2705\u274c\u26a0\ufe0f\U0001f6ab-")
    for front in (_LABEL, _CONDITION, _CONDITION):
        if _begins_with_verb(rest):
            return True
        found = front.match(rest)
        if found is not None:
            rest = rest[found.end() :].lstrip("*_\"'( ")
    return _begins_with_verb(rest)


def _begins_with_verb(text: str) -> bool:
    """Whether a text begins with a verb with which people tell others what to do."""
    word = _WORD.match(text)
    return word is not None and word[0].lower() in _VERBS and _NAMES.match(text, word.end()) is None


def _shows_a_command(text: str) -> bool:
    """Whether a text is a command and at most what it is for."""
    code = _CODE.search(text)
    if code is None or not is_command(code[1]):
        return False
    around = _CODE.sub("", text)
    if text.startswith("`"):
        behind = _SIDE_BY_SIDE.match(text)
        rest = text[behind.end() :] if behind else ""
        return not rest or (rest[0] in "(:-\u2013\u2014#" and not _obliges(rest))
    before = text[: code.start()].rstrip("* _")
    return before.endswith(":") and len(around) <= _LABEL_MOST and not _obliges(around)
