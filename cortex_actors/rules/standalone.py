"""Whether a rule can be read in another project, in which words, about what, and for whom.

A statement is read beside its file: its heading says what it is about, and the names in it are
known there. A bullet of a section has neither. So a rule that names what one repository has is not
given to others, and one that needs its heading gets it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from cortex_actors.domain.project import StatementKind
from cortex_actors.rules.classification import BETWEEN
from cortex_actors.text.lexicon import (
    STOP_WORDS,
    expand_pattern,
    load_patterns,
    load_table,
    read_wording,
    stem,
)
from cortex_actors.text.statements import find_kind, is_command, is_order

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

_TABLE, _PATTERNS = load_table("standalone"), load_patterns("standalone")
_WORDS = {name: frozenset(words.split()) for name, words in _TABLE["words"].items()}


def _by_word(lists: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """Return word -> the names of the lists that it is in."""
    every = {word for words in lists.values() for word in words.split()}
    return {w: frozenset(name for name in lists if w in lists[name].split()) for w in every}


#: Word -> the technologies that it tells of; and code -> the same, as it is spelled.
_STACKS, _CODE_STACKS = _by_word(_TABLE["stacks"]), _by_word(_TABLE["code_stacks"])

#: What tells of a technology in several words.
_CONSTRUCTS = {
    name: re.compile(rf"(?i)\b(?:{expand_pattern(words, {})})\b")
    for name, words in _TABLE["constructs"].items()
}

#: Files at a project's root, and the technology that each tells of.
MANIFESTS: dict[str, str] = _TABLE["manifests"]

#: Topics, and the stems that tell of each; the narrower ones come first.
_TOPICS = {name: {stem(word) for word in words.split()} for name, words in _TABLE["topics"].items()}

#: Names that every project may use, and code of which that is true as well.
_KNOWN = _STACKS.keys() | _WORDS["names"] | _WORDS["files"]
_KNOWN_CODE = _KNOWN | _WORDS["code"]

#: Words with which headings say what a rule is about, and stems of such words.
_ABOUT = _WORDS["headings"] | _STACKS.keys() | set[str]().union(*_TOPICS.values())

#: Stem -> the one used in its place, where several words mean one thing.
_MEANS = {
    stem(word): stem(words.split()[0])
    for words in _TABLE["synonyms"]["words"]
    for word in words.split()
}

#: What a rule is about that no word of it tells: nearly all of them are about code.
CODE = "Code"

#: Characters of a bullet: what is longer argues a case of its own project, or is several rules.
MOST = 200

#: Words of a rule at least, and of a heading at most.
_LEAST_WORDS, _TITLE_WORDS = 3, 7

#: What a rule needs that is not about commits: a project of prose, prompts or lists has none.
_SOURCES, _COMMITS = "sources", "Commits"

#: Technologies that are languages.
_LANGUAGES = frozenset(MANIFESTS.values()) | {"dotnet"}

#: Texts of a project that name a technology which it has.
HAD = 2

#: Share of texts that name a language in a project with sources, and texts from which on it counts:
#: collections of skills, prompts and lists have 0.00 to 0.06, most others 0.1 to 0.5.
CODED, MANY = 0.08, 10

#: Letters of a project's name that is looked for; shorter ones are words.
_NAME = 3

#: Letters of another script from which on a text is written in it.
_LETTERS = 4

_CODE = re.compile(r"`+([^`]+)`+")
_EMPHASIS = re.compile(r"(?<!\w)(?:\*{1,3}|_{2,3})(?=\S)|(?<=\S)(?:\*{1,3}|_{2,3})(?!\w)")
_LINK = re.compile(r"!?\[([^\[\]]{1,200})\]\(([^()\s]{1,500})\)")
_LABEL = re.compile(r"([^:.`\u2014]{2,40}):\s+(?=\S)")
_TITLE = re.compile(r"^[\w-]+ [\u2013\u2014] ")
_LEAD = re.compile(r"^(?:[^\w`\"'\u201c\u2018(\[<@#$]|_|\d+[.)]\s)+")
_WORD = re.compile(r"[@.#]?[^\W_][\w.+#*'\u2019-]*[\w+#]|[^\W_]")
_TOKEN = re.compile(r"[\w.+#*@-]+")


@dataclass(frozen=True, slots=True)
class Standalone:
    """A rule as a bullet says it; `text` is None where it cannot be one, and `reason` why."""

    text: str | None
    reason: str = ""


#: Texts of which it is remembered what they are: some MB, in the largest home.
_REMEMBERED = 16_384


@lru_cache(_REMEMBERED)
def make_standalone(
    text: str,
    heading: str | None,
    kind: StatementKind | None,
    *,
    names: Collection[str] = (),
) -> Standalone:
    """Return a statement as a rule that is understood alone, or why it is none; linear in its text.

    `heading` is what is above it, outermost first, `kind` what the parser found it to be (None:
    that is not known), and `names` those of the projects that say it, hashable.
    """
    text = _PATTERNS["cited"].sub("", " ".join(text[: 5 * MOST].split()))
    plain = _cleaned(text)
    if (why := _no_rule(plain, heading, kind=kind)) is not None:
        return Standalone(None, why)
    front, is_known = _needed(plain, heading)
    is_title = not front.rstrip("`'\" ").endswith(("/", "-", "&", "."))
    is_known = is_known and is_title and not (front and _LABEL.match(plain))
    whole = f"{front}: {plain}" if front else plain
    own = next((each[2] for each in _LINK.finditer(text) if "//" not in each[2]), None)
    if found := own or _of_one_place(plain, names) or _of_one_place(front, names, is_title=True):
        return Standalone(None, f"it names {found}")
    if not is_known:
        return Standalone(None, f"it holds below its heading {front!r}")
    if len(whole) > MOST:
        return Standalone(None, f"it is longer than a line of {MOST} characters")
    return Standalone(whole)


@lru_cache(_REMEMBERED)
def find_stacks(text: str) -> frozenset[str]:
    """Return the technologies that a text names, and the script that it is written in."""
    found = {each for code in _CODE.findall(text) for each in _CODE_STACKS.get(code, ())}
    for word in _TOKEN.findall(text.lower()):
        plain = word.strip(".'*-/")
        for each in (word, plain, *re.split(r"[.-]", plain)[:1]):
            found |= _STACKS.get(each, frozenset())
    found |= {name for name, pattern in _CONSTRUCTS.items() if pattern.search(text)}
    scripts = ("han", "cyrillic")
    return frozenset(found).union(
        each for each in scripts if len(_PATTERNS[each].findall(text)) >= _LETTERS
    )


@lru_cache(_REMEMBERED)
def find_needs(text: str, places: tuple[tuple[str, str], ...]) -> frozenset[str]:
    """Return the technologies without which a project has no use for a rule.

    Those are what it names, and what the headings (without the file's title) and the scope say
    alike at all places that have it: pairs of these. What is about code needs sources, too.
    """
    around = [find_stacks(f"{heading.partition(BETWEEN)[2]} {scope}") for heading, scope in places]
    own = find_stacks(text) if find_topic(text) == _COMMITS else find_stacks(text) | {_SOURCES}
    return own.union(find_tools(text), frozenset.intersection(*around) if around else frozenset())


@lru_cache(_REMEMBERED)
def find_tools(text: str) -> frozenset[str]:
    """Return the stems of what a text names that one project uses and another of its stack not."""
    said = {
        part
        for word in _TOKEN.findall(text.lower())
        for part in (word, *re.split(r"[.*/-]+", word))
    }
    return frozenset(stem(each) for each in said & _WORDS["tools"])


def measure_coverage(text: str, passages: Iterable[frozenset[str]]) -> float:
    """Return how much of what a text says one of some passages speaks of, 0 to 1.

    Passages are `extract_content` of texts. A word that few of them have counts more: by
    ln(1 + n / (1 + those that have it)), so that what none has counts most.
    """
    own, every = extract_content(text), list(passages)
    counts = Counter(each for some in every for each in some)
    weights = {each: math.log1p(len(every) / (1 + counts[each])) for each in own}
    found = [sum(weights[each] for each in own & some) for some in every]
    return max(found, default=0.0) / (sum(weights.values()) or 1.0)


@lru_cache(_REMEMBERED)
def extract_content(text: str) -> frozenset[str]:
    """Return the stems of the words that say what a text is about, one for those that mean one."""
    some = {stem(each) for each in _WORD.findall(text.lower()) if each not in STOP_WORDS}
    return frozenset(_MEANS.get(each, each) for each in some if len(each) > 1)


def find_project_stacks(texts: Sequence[str], files: Iterable[str] = ()) -> frozenset[str]:
    """Return the technologies of a project that says those texts and has those files at its root.

    One is had that a manifest tells, or that `HAD` texts or a tenth of them name: a word said once
    in a large file is as often about what is not used. It has sources unless it says much and
    hardly anything of a language.
    """
    said = [find_stacks(text) for text in texts]
    counts = Counter(each for some in said for each in some)
    least = min(HAD, len(texts) / 10)
    named = {each for each, count in counts.items() if count >= least}
    named.update(each for text in texts for each in find_tools(text))
    shown = {MANIFESTS[each] for each in files if each in MANIFESTS}
    coded = sum(not some.isdisjoint(_LANGUAGES) for some in said)
    if shown or len(said) < MANY or coded >= CODED * len(said):
        named.add(_SOURCES)
    return frozenset(named | shown)


def find_topic(text: str) -> str:
    """Return what a rule is about: the topic that most of its words tell."""
    stems = _stems(text)
    counts = {name: len(stems & words) for name, words in _TOPICS.items()}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] else CODE


def _cleaned(text: str) -> str:
    """Return a statement without markup, what it cites, and what only raises the voice."""
    parts = enumerate(re.split(r"(`[^`]*`)", _LINK.sub(r"\1", text)))
    text = "".join(part if number % 2 else _EMPHASIS.sub("", part) for number, part in parts)
    text = _PATTERNS["shouts"].sub("", _LEAD.sub("", text, count=1)).strip(" -\u2013\u2014")
    text = re.sub(r"(?i)^(?:always|do)\s*[:\u2013\u2014]\s*(?=\S)", "", text)
    return text[:1].upper() + text[1:]


def _no_rule(plain: str, heading: str | None, *, kind: StatementKind | None) -> str | None:
    """Return why a text gives no order by itself; None if it gives one."""
    if kind in {None, StatementKind.FACT}:
        # What was read by an older parser.
        kind = find_kind(plain, (heading or "").split(BETWEEN))
    if kind is not StatementKind.RULE:
        return f"it is no rule but {'an' if kind is StatementKind.EXAMPLE else 'a'} {kind}"
    if plain.endswith((":", "\uff1a", "\u2026", "...")):
        return "it introduces something that is not there"
    said = f"{(heading or '').rpartition(BETWEEN)[2]}: \n{plain}"
    for name, why in _TABLE["reasons"].items():
        if _PATTERNS[name].search(said):
            return str(why)
    if _PATTERNS["foreign"].search(plain):
        return None
    if len(plain.split()) < _LEAST_WORDS:
        return "it is no sentence"
    # What follows a title has to tell it.
    if (is_order(_TITLE.sub("", plain)) and not is_command(plain)) or (
        _PATTERNS["strong"].search(plain) and _PATTERNS["about_all"].match(plain)
    ):
        return None
    return "it says how something is"


def _needed(plain: str, heading: str | None) -> tuple[str, bool]:
    """Return the heading that a text is not understood without, and whether all know its words.

    It is "" where the text says it itself, or where no heading says anything.
    """
    parts = (heading or "").split(BETWEEN)
    own, has = _stems(plain), find_stacks(plain)
    about = own | _TOPICS.get(find_topic(plain), set())
    # The first of several is the file's title.
    for part in reversed(parts[1:] or parts):
        # A sentence that leads in says nothing, unless it says when.
        if len(part.split()) > _TITLE_WORDS and not _PATTERNS["when"].match(part):
            continue
        title = _titled(part)
        words = {word for word in _WORD.findall(title.lower()) if not _is_empty(word)}
        words = {word for word in words if not has >= _STACKS.get(word, {word})}
        telling = {stem(word) for word in words}
        is_said = not {_MEANS.get(each, each) for each in telling}.isdisjoint(
            extract_content(plain)
        )
        if telling & own or is_said or (telling and telling <= about):
            return "", True
        if words:
            # Words that no other project uses name what only that file has.
            is_known = all(not _ABOUT.isdisjoint((word, stem(word))) for word in words)
            # A file of one heading has its own name there.
            return ("", True) if len(parts) == 1 and _ABOUT.isdisjoint(words) else (title, is_known)
    return "", True


def _is_empty(word: str) -> bool:
    """Tell whether a word of a heading says nothing of what is below it."""
    return word in _WORDS["empty"] or word in STOP_WORDS or word.isdigit()


def _titled(heading: str) -> str:
    """Return a heading as words before a colon: "3. **Commit Messages** (all)" as that."""
    plain = _LEAD.sub("", _EMPHASIS.sub("", _LINK.sub(r"\1", heading)), count=1)
    words = re.sub(r"\s*[(\[\u2014\u2013].*$", "", plain).strip(" :.-*_").split()
    while words and (words[-1].lower() in _WORDS["empty"] or not words[-1].strip("/&+|,")):
        words.pop()
    names = (
        word if word[1:] != word[1:].lower() or word.lower() in _KNOWN else "" for word in words
    )
    joined = " ".join(name or word.lower() for name, word in zip(names, words, strict=True))
    return joined[:1].upper() + joined[1:]


def _of_one_place(text: str, names: Collection[str], *, is_title: bool = False) -> str | None:
    """Return what in a text only its own project knows; None if nothing."""
    for name in (each.lower() for each in names):
        is_word = len(name) < _NAME or name in _WORDS["folders"]
        if not is_word and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text.lower()):
            return f"the project {name}"
    prose = _CODE.sub(" `` ", text)
    for what in ("address", "issue", "date", "version", "marker", "person", "function", "number"):
        is_prose = what in {"person", "function", "number"}
        if found := _PATTERNS[what].search(prose if is_prose else text):
            return f"{'an' if what[0] in 'ai' else 'a'} {what}: {found[0].strip()}"
    for code in _CODE.finditer(text):
        if _is_foreign(code[1].strip(), text[: code.start()]):
            return f"{code[0]}, which other projects may not have"
    label = None if is_title else _LABEL.match(prose)
    words = read_wording(prose)
    for word in (each for each in words.words if each.is_word and not each.code):
        said = prose[word.start : word.end] if len(prose) == len(words.plain) else word.text
        is_name = word.proper and not is_title and word.start >= (label.end() if label else 0)
        if any(_is_unknown(each, is_name=is_name) for each in re.split(r"[/+]|-(?=[A-Z])", said)):
            return f"{said}, which other projects may not have"
    return None


def _is_foreign(code: str, before: str) -> bool:
    """Tell whether a span of code may be of one project only, given the text before it."""
    if not code or _is_common(code):
        return False
    first, *rest = code.split()
    if rest or is_command(code):
        some = _WORDS["managing" if first in _WORDS["runners"] else "commands"]
        return first.lower() not in _KNOWN_CODE or not all(
            each.lower() in some or _is_common(each) or "<" in each for each in rest
        )
    if "/" in code.rstrip("/") or code.startswith(("/", ".", "-", "@", "$", "<")):
        return True
    # A pattern of names is no name; and "use `something`" tells what to choose.
    is_chosen = _PATTERNS["tool"].fullmatch(code) and _PATTERNS["chooses"].search(before)
    return not (is_chosen or "*" in code or "<" in code)


def _is_common(code: str) -> bool:
    """Tell whether code is of a language, of a tool that is known, or of everybody."""
    lowered = code.lower()
    first, _, rest = lowered.partition(".")
    is_of_tool = first in _STACKS and rest.rpartition(".")[2] not in _WORDS["endings"]
    return (
        code in _CODE_STACKS
        or is_of_tool
        or not _KNOWN_CODE.isdisjoint((lowered, lowered.strip("()[]")))
    )


def _is_unknown(word: str, *, is_name: bool) -> bool:
    """Tell whether a word in prose is a name that no table has."""
    plain = word.strip("'\u2019*.").removesuffix("'s").removesuffix("\u2019s")
    lowered = plain.lower()
    if not plain or not _KNOWN_CODE.isdisjoint((lowered, lowered.removesuffix("s"))):
        return False
    if "_" in plain or word.rpartition(".")[2] in _WORDS["endings"] - {word}:
        return True
    if plain.isupper():
        return plain.isalpha() and len(plain) > 1 and lowered not in _WORDS["shouts"] | STOP_WORDS
    return is_name or plain[1:] != plain[1:].lower()


def _stems(text: str) -> set[str]:
    """Return the stems of a text's words, those of code too."""
    return {stem(word) for word in _WORD.findall(text.lower())}
