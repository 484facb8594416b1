"""Whether a rule can be read in another project, in which words, about what, and for whom.

A statement is read beside its file: its heading says what it is about, and the names in it are
known there. A bullet of a section has neither. So a rule that names what one repository has is not
given to others, and one that needs its heading gets it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from cortex_actors.domain.project import StatementKind
from cortex_actors.rules.classification import BETWEEN
from cortex_actors.text.lexicon import STOP_WORDS, patterns, stem, table, wording
from cortex_actors.text.statements import is_command, kind_of, tells

if TYPE_CHECKING:
    from collections.abc import Collection

_TABLE, _PATTERNS = table("standalone"), patterns("standalone")
_WORDS = {name: frozenset(words.split()) for name, words in _TABLE["words"].items()}

#: Word -> the technologies that it tells of; and code -> the same, as it is spelled.
_STACKS: dict[str, frozenset[str]] = {}
_CODE_STACKS: dict[str, frozenset[str]] = {}
for _into, _kind in ((_STACKS, "stacks"), (_CODE_STACKS, "code_stacks")):
    for _name, _said in _TABLE[_kind].items():
        for _word in _said.split():
            _into[_word] = _into.get(_word, frozenset()) | {_name}

#: Files at a project's root, and the technology that each tells of.
MANIFESTS: dict[str, str] = _TABLE["manifests"]

#: Topics, and the stems that tell of each.
_TOPICS: dict[str, frozenset[str]] = {
    name: frozenset(stem(word) for word in words.split())
    for name, words in _TABLE["topics"].items()
}

#: What a rule is about that no word of it tells: nearly all of them are about code.
CODE = "Code"

#: Characters of a bullet: a line of a section is cut at 300, and a rule that is cut claims less.
MOST = 280

#: Words of a rule, and of a heading in front of it.
_LEAST_WORDS, _HEADING_WORDS = 3, 7

#: Letters of a project's name that is looked for; shorter ones are words.
_NAME = 3

_CODE = re.compile(r"`+([^`]+)`+")
_EMPHASIS = re.compile(r"(?<!\w)(?:\*{1,3}|_{2,3})(?=\S)|(?<=\S)(?:\*{1,3}|_{2,3})(?!\w)")
_LINK = re.compile(r"!?\[([^\[\]]{1,200})\]\(([^()\s]{1,500})\)")
_URL = re.compile(r"https?://|www\.")
_LABEL = re.compile(r"([^:.`\u2014]{2,40}):\s+(?=\S)")
_LEAD = re.compile(r"^(?:[\W_\d]+(?=[A-Za-z`\u3040-\uffdc])|\d+[.)]\s)")
_PATH = re.compile(r"(?:[\w.@*<>{}\[\]$~-]*/)+[\w.@*<>{}\[\]$-]*|[\w*<>{}-]+\.[a-z]{1,5}\d?")
_WORD = re.compile(r"[@.#]?[^\W_][\w.+#*'\u2019-]*[\w+#]|[^\W_]")
_CHOOSES = re.compile(
    r"(?i)\b(?:use|using|prefer|with|via|over|than|of|not|never|avoid|no|and|or|in)\s+$|[/,]\s*$"
)
_PLAIN_NAME = re.compile(r"[a-z][a-z0-9-]{2,30}")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")

#: Signs of a script from which on a text is written in it.
_SIGNS = 4


@dataclass(frozen=True, slots=True)
class Standalone:
    """A rule as a bullet says it; `text` is None where it cannot be one, and `reason` why."""

    text: str | None
    reason: str = ""


def standalone(
    text: str,
    heading: str | None,
    kind: StatementKind | None,
    *,
    names: Collection[str] = (),
) -> Standalone:
    """Return a statement as a rule that stands alone, or why it is none; linear in its text.

    `heading` is what it stands under, outermost first, `kind` what the parser found it to be (None:
    nobody has looked), and `names` those of the projects that say it.
    """
    plain = _cleaned(text)
    if (why := _no_rule(plain, heading, kind)) is not None:
        return Standalone(None, why)
    front = _needed(plain, heading)
    whole = f"{front}: {plain}" if front else plain
    why = _of_one_place(plain, names) or (front and _of_one_place(front, names, is_title=True))
    if why:
        return Standalone(None, why)
    if len(whole) > MOST:
        return Standalone(None, f"it is longer than a line of {MOST} characters")
    return Standalone(whole)


def stacks(text: str) -> frozenset[str]:
    """Return the technologies that a text names, and the script that it is written in."""
    found: set[str] = set()
    for code in _CODE.findall(text):
        found |= _CODE_STACKS.get(code, frozenset())
    for word in _WORD.findall(text.lower()):
        found |= _STACKS.get(word, frozenset()) or _STACKS.get(word.strip(".'*-"), frozenset())
    for name, signs in (("east-asian", _WIDE), ("cyrillic", _CYRILLIC)):
        if len(signs.findall(text)) >= _SIGNS:
            found.add(name)
    return frozenset(found)


def names_code(text: str) -> bool:
    """Tell whether a text names code that belongs to some technology which no word tells."""
    return any(each.lower() not in _WORDS["code"] for each in _CODE.findall(text))


def topic(text: str, heading: str | None = None) -> str:
    """Return what a rule is about: the topic that most of its words tell, else its heading's."""
    for some in (
        text,
        (heading or "").rpartition(BETWEEN)[2],
        (heading or "").replace(BETWEEN, " "),
    ):
        stems = _stems(some)
        counts = {name: len(stems & words) for name, words in _TOPICS.items()}
        # Of two with equally many the first of the table: the narrower ones come first.
        best: str = max(counts, key=lambda name: counts[name])
        if counts[best]:
            return best
    return CODE


def _cleaned(text: str) -> str:
    """Return a statement without markup, what it cites, and what only raises the voice."""
    text = _PATTERNS["cited"].sub("", " ".join(text.split()))
    text = _LINK.sub(lambda found: found[1], text)
    text = "".join(
        part if number % 2 else _EMPHASIS.sub("", part)
        for number, part in enumerate(re.split(r"(`[^`]*`)", text))
    )
    text = _PATTERNS["shouts"].sub("", _LEAD.sub("", text, count=1)).strip(" -\u2013\u2014")
    return text[:1].upper() + text[1:] if text[:1].islower() else text


def _no_rule(plain: str, heading: str | None, kind: StatementKind | None) -> str | None:
    """Return why a text tells nobody to do something, by itself; None if it does."""
    under = (heading or "").split(BETWEEN)
    if (kind or kind_of(plain, under)) is not StatementKind.RULE:
        return "it is no rule"
    if _PATTERNS["row"].fullmatch(plain):
        return "it is the row of a table"
    if plain.endswith((":", "\uff1a", "\u2026", "...")):
        return "it introduces something that is not there"
    if _PATTERNS["leans"].match(plain) or _PATTERNS["points"].search(plain):
        return "it speaks of what stands beside it"
    if _WIDE.search(plain):
        return None
    if len(plain.split()) < _LEAST_WORDS:
        return "it is no sentence"
    is_order = tells(plain) and not is_command(plain)
    if is_order or (_PATTERNS["strong"].search(plain) and _PATTERNS["about_all"].match(plain)):
        return None
    return "it says how something is"


def _needed(plain: str, heading: str | None) -> str:
    """Return the heading that a text is not understood without; "" where it says it itself."""
    parts = (heading or "").split(BETWEEN)
    # The first of several is the file's title.
    for part in reversed(parts[1:] or parts):
        title = _titled(part)
        telling = {
            stem(word)
            for word in _WORD.findall(title.lower())
            if word not in _WORDS["empty"] and word not in STOP_WORDS and not word.isdigit()
        }
        if not telling:
            continue
        own = _stems(plain)
        about = topic(plain)
        if telling & own or telling <= _TOPICS.get(about, frozenset()):
            return ""
        return title if len(title.split()) <= _HEADING_WORDS else ""
    return ""


def _titled(heading: str) -> str:
    """Return a heading as words before a colon: "3. **Commit Messages** (all)" as that."""
    plain = _LEAD.sub("", _EMPHASIS.sub("", _LINK.sub(lambda found: found[1], heading)), count=1)
    plain = re.sub(r"\s*[(\[\u2014\u2013].*$", "", plain).strip(" :.-*_")
    words = [
        word.lower() if word[1:].islower() and word.lower() not in _known() else word
        for word in plain.split()
    ]
    joined = " ".join(words)
    return joined[:1].upper() + joined[1:]


def _of_one_place(text: str, names: Collection[str], *, is_title: bool = False) -> str | None:
    """Return what in a text only its own project knows; None if nothing."""
    lowered = text.lower()
    for name in names:
        known = len(name) < _NAME or name.lower() in _WORDS["folders"]
        if not known and re.search(rf"(?<![\w-]){re.escape(name.lower())}(?![\w-])", lowered):
            return f"it names the project {name}"
    if _URL.search(text):
        return "it names an address"
    for what in ("issue", "dated", "version", "person"):
        if found := _PATTERNS[what].search(_CODE.sub(" ", text) if what == "person" else text):
            return f"it names {_CALLED[what]}: {found[0].strip()}"
    for found in _CODE.finditer(text):
        if _is_foreign(found[1].strip(), text[: found.start()]):
            return f"it names {found[0]}, which other projects may not have"
    return _named(_CODE.sub(" `` ", text), is_title=is_title)


#: What patterns find, as a person reads it.
_CALLED = {
    "issue": "an issue",
    "dated": "a date",
    "version": "a version",
    "person": "a person",
}


def _is_foreign(code: str, before: str) -> bool:
    """Tell whether a span of code may be of one project only, given the text before it."""
    if _is_common(code):
        return False
    words = code.split()
    if len(words) > 1 or is_command(code):
        program, *rest = words
        known = program.lower() in _known() or program in _WORDS["code"]
        return not known or not all(
            each.lower() in _WORDS["commands"] or _is_common(each) or "<" in each for each in rest
        )
    if "/" in code.rstrip("/") or code.startswith(("/", ".", "-", "@", "$")):
        return True
    if ("*" in code or "<" in code) and not code.startswith("<"):
        return False
    return not (_PLAIN_NAME.fullmatch(code) and _CHOOSES.search(before))


def _is_common(code: str) -> bool:
    """Tell whether code is of a language, of a tool that is known, or of everybody."""
    lowered = code.lower()
    first = lowered.partition(".")[0]
    return (
        code in _CODE_STACKS
        or lowered in _known()
        or lowered in _WORDS["code"]
        or lowered.strip("()[]") in _known()
        or (bool(first) and first in _STACKS)
    )


@lru_cache(maxsize=1)
def _known() -> frozenset[str]:
    """Return the names that every project may use."""
    return frozenset(_STACKS) | _WORDS["names"] | _WORDS["files"]


def _named(text: str, *, is_title: bool) -> str | None:
    """Return the first name in prose that no table knows, as a reason; None if there is none."""
    label = None if is_title else _LABEL.match(text)
    begin = label.end() if label is not None else 0
    for word in wording(text).words:
        if word.code or not word.is_word:
            continue
        said = text[word.start : word.end] if len(text) == len(wording(text).plain) else word.text
        for part in re.split(r"[/+]|-(?=[A-Z])", said):
            if _is_unknown(part, is_proper=word.proper and not is_title and word.start >= begin):
                return f"it names {said}, which other projects may not have"
    return None


def _is_unknown(word: str, *, is_proper: bool) -> bool:
    """Tell whether a word in prose is a name that no table has."""
    plain = word.strip("'\u2019*.").removesuffix("'s").removesuffix("\u2019s")
    if not plain or plain.lower() in _known() or plain.lower() in _WORDS["code"]:
        return False
    if plain.lower().removesuffix("s") in _known():
        return False
    if _PATH.fullmatch(word) and word.rpartition(".")[2] in _ENDINGS:
        return True
    if "_" in plain or (any(each.isupper() for each in plain[1:]) and not plain.isupper()):
        return True
    if plain.isupper() and plain.isalpha() and len(plain) > 1:
        return plain.lower() not in _WORDS["shouts"] and plain.lower() not in STOP_WORDS
    return is_proper


#: Endings of files that projects are made of.
_ENDINGS = frozenset(
    "py ts tsx js jsx md mdx go rs java rb php c h cpp toml yml yaml json sh sql css html".split()
)


def _stems(text: str) -> frozenset[str]:
    """Return the stems of a text's words, those of code too."""
    return frozenset(stem(word) for word in _WORD.findall(text.lower()))
