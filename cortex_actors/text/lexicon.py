"""The tables that rules judge by: words, alternatives, versions.

They are data (`rules/tables/*.toml`) and a home's `rules.toml` adds to them: see `load_extended`.

A statement's words as rules compare them: without markup, in lower case, by their stems.

Text in backticks is code: its words keep their spelling and count as names. Everything here
is linear in the text.

English words that hold a sentence together and say nothing of what it is about.

They are dropped from questions, never from texts: a phrase in quotes still finds them. The list
was chosen by grammar (articles, pronouns, auxiliaries, conjunctions, prepositions, what is left
of a contraction when its apostrophe is gone), not by looking at any questions. Negations of
preference ("never", "always", "without") are not in it, because rules are made of them.

The keywords that say of which kind a text is, what it is about, and in which field.

The tables are Cerno's. It counted substrings, so that "restore" was about REST and "important"
about ports; here a keyword is a whole word or its plain inflection (test, tests, testing).

Which words of a statement it wants, which it forbids, and which it ties to a condition.

A word is against what follows it ("never use tabs"), what follows a word of contrast is unwanted
beside what is before it ("spaces over tabs"), and what may be only under a condition is neither
wanted nor forbidden as such. The words that turn a statement are a table (`tables/words.toml`).
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import dataclass
from enum import Enum
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from cortex_actors.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

#: Characters of a statement that are read: a rule is said by then, and pages are not compared.
MOST = 2_000

#: What is written differently and means the same, in this order: a sign without which it is not
#: there, what it looks like, and what is read instead.
_PLAIN = (
    ("[", re.compile(r"!?\[([^\]\n]{0,200})\]\([^)\s]{0,500}\)"), r"\1"),
    ("<", re.compile(r"</?[a-zA-Z][^<>\n]{0,100}>"), " "),
    ("", re.compile("[\u2018\u2019\u02bc]"), "'"),
    ("", re.compile("[\u201c\u201d\u201e\u00ab\u00bb]"), '"'),
    ("", re.compile("[\u2010\u2011]|(?<=\\d) ?\u2013 ?(?=\\d)"), "-"),
    ("", re.compile("\\s*[\u2012-\u2015]\\s*"), " \u2014 "),
    (" -", re.compile(" -{1,2} "), " \u2014 "),
    # "4-space" is a number and its unit, two words; proposals read the sign between them.
    ("-", re.compile(r"(?<![\w./-])(\d+)-(?=[a-zA-Z]{2,}(?![\w./-]))"), r"\1~"),
    ("", re.compile("[\u2705\u2714\u2611\U0001f44d]\ufe0f?"), " do: "),
    ("", re.compile("[\u274c\u2716\u2717\u2718\U0001f6ab\u26d4\U0001f44e]\ufe0f?"), " don't: "),
    ("", re.compile("[\u2264]\\s*"), "at most "),
    ("", re.compile("[\u2265]\\s*"), "at least "),
    (">", re.compile("=>|->"), " \u2192 "),
    ("", re.compile("\u2192"), " \u2192 "),
    ("*", re.compile(r"(?<!\w)\*{1,3}(?=\S)|(?<=\S)\*{1,3}(?!\w)"), ""),
    ("_", re.compile(r"(?<!\w)[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)"), ""),
    ("nd", re.compile(r"(?i)\bend[ -]to[ -]end\b"), "e2e"),
    ("'", re.compile(r"(?i)\b(ca)n't\b"), "cannot"),
    ("'", re.compile(r"(?i)\b(wo)n't\b"), "will not"),
    ("'", re.compile(r"(?i)n't\b"), " not"),
    ("nt", re.compile(r"(?i)\b(do|does|should|must|is|are)nt\b"), r"\1 not"),
    ("not", re.compile(r"(?i)\bcannot\b"), "can not"),
)

_BLANKS = re.compile(r"\s+")
_CODE = re.compile(r"(`{1,3})(.+?)\1")

#: A word: letters and digits, with the dots, dashes and signs of names, versions and options.
_WORD = re.compile(r"[@#$]?[^\W_](?:[\w.+#/@:-]*[\w+#])?|--?[a-zA-Z][\w-]*|[^\w\s]")

#: Signs after which a capital says nothing.
_OPENING = frozenset('.:!?;()\u2014|"*-')

#: Letters that a stem keeps at least.
_SHORTEST = 3

#: Words whose stems are remembered: those of a language that are said often; and texts whose words
#: are: a text is compared with several others, by more than one rule.
_STEMS, _TEXTS = 20_000, 256


#: The place of a part in a pattern of a table.
_PART = re.compile(r"\{([a-z_]+)\}")


@cache
def load_table(name: str, *, package: str = "text") -> dict[str, Any]:
    """Return one of the tables of a package of the product."""
    folder = files(f"cortex_actors.{package}") / "tables"
    return tomllib.loads((folder / f"{name}.toml").read_text("utf-8"))


def expand_pattern(written: str, parts: Mapping[str, str]) -> str:
    """Return a pattern of a table: its lines as one, with the parts that `{name}` names."""
    lines = written.split("\n")
    whole = "".join(map(str.strip, lines)) if len(lines) > 1 else written
    return _PART.sub(lambda found: expand_pattern(parts[found[1]], parts), whole)


@cache
def load_patterns(name: str, *, package: str = "text") -> dict[str, re.Pattern[str]]:
    """Return the compiled `patterns` of a table."""
    parts = load_table(name, package=package).get("parts", {})
    found = load_table(name, package=package)["patterns"].items()
    return {key: re.compile(expand_pattern(written, parts)) for key, written in found}


#: Endings that inflect a word, the longest first: (ending, what replaces it).
_ENDINGS: tuple[tuple[str, str], ...] = tuple((a, b) for a, b in load_table("keywords")["endings"])


@dataclass(frozen=True, slots=True)
class Word:
    """One word or sign of a text, with its place in the plain text."""

    text: str
    stem: str
    start: int
    end: int
    #: Which of the text's backticked spans it is in, from 1; 0 for prose.
    code: int = 0
    #: Whether it is written as names are: a capital within a sentence, or inside the word.
    proper: bool = False

    @property
    def is_word(self) -> bool:
        """Whether it is more than a sign."""
        return len(self.text) > 1 or self.text.isalnum()


@dataclass(frozen=True, slots=True)
class Wording:
    """A text without its markup but the backticks of code, and its words."""

    plain: str
    words: tuple[Word, ...]

    @property
    def spoken(self) -> tuple[Word, ...]:
        """The words without the signs."""
        return tuple(word for word in self.words if word.is_word)


def read_wording(text: str) -> Wording:
    """Return the words of a text, at most the first `MOST` characters of it."""
    return _wording(text[:MOST])


@lru_cache(maxsize=_TEXTS)
def _wording(text: str) -> Wording:
    """Return the words of a text."""
    pieces, code = _pieces(text)
    cased = "".join(pieces)
    plain = cased.lower()
    if len(plain) != len(cased):
        plain = "".join(map(_lower, cased))
    return Wording(plain, tuple(_words(plain, cased, code)))


@lru_cache(maxsize=_STEMS)
def stem(word: str) -> str:
    """Return a word without its inflection: tests, tested and testing have one stem.

    It is no dictionary: what matters is that forms of one word meet and different words do not.
    """
    if not word.isalpha() or len(word) <= _SHORTEST:
        return word
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST:
            if ending in {"s", "es"} and word.endswith(("ss", "us", "is")):
                return word
            return _undoubled(word[: -len(ending)] + instead)
    return _undoubled(word)


def _undoubled(word: str) -> str:
    """Return a stem without a final e and without a doubled consonant: writ(e), commit(t)."""
    if len(word) > _SHORTEST and word.endswith("e"):
        word = word[:-1]
    if len(word) > _SHORTEST and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word


def _pieces(text: str) -> tuple[list[str], list[tuple[int, int]]]:
    """Return the plain pieces of a text, and the ranges of them that are code."""
    pieces: list[str] = []
    code: list[tuple[int, int]] = []
    at = length = 0
    for match in _CODE.finditer(text):
        before = _plain(text[at : match.start()])
        inside = f"`{' '.join(match[2].split())}`"
        code.append((length + len(before), length + len(before) + len(inside)))
        pieces += [before, inside]
        length += len(before) + len(inside)
        at = match.end()
    pieces.append(_plain(text[at:]))
    return pieces, code


def _plain(text: str) -> str:
    """Return prose without markup, one space between words."""
    is_typed = text.isascii()
    for sign, pattern, instead in _PLAIN:
        if sign in text if sign else not is_typed:
            text = pattern.sub(instead, text)
    return _BLANKS.sub(" ", text)


def _lower(letter: str) -> str:
    """Return a letter in lower case, as one letter, so that places stay the same."""
    small = letter.lower()
    return small if len(small) == 1 else letter


def _words(plain: str, cased: str, code: list[tuple[int, int]]) -> Iterator[Word]:
    """Yield the words of a plain text with their places."""
    number, opens = 0, True
    for match in _WORD.finditer(plain):
        while number < len(code) and code[number][1] <= match.start():
            number += 1
        inside = number < len(code) and code[number][0] <= match.start()
        text = match[0]
        if text == "`":
            continue
        known = text if inside else stem(text)
        proper = not inside and _is_proper(cased[match.start() : match.end()], opens=opens)
        opens = text in _OPENING
        yield Word(
            text, known, match.start(), match.end(), number + 1 if inside else 0, proper=proper
        )


def _is_proper(word: str, *, opens: bool) -> bool:
    """Whether a word is written as a name; capitals throughout only stress it."""
    if word.islower() or (word.isupper() and word.isalpha()):
        return False
    return word[1:] != word[1:].lower() or (word[0].isupper() and not opens)


#: The tables of the product, in the order they are read.
TABLES = ("words", "versions")

#: Changes with what the rules find in a text: what was judged by another version is judged again.
VERSION = 6


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All tables, ready to be asked; equal tables have equal digests.

    Attributes:
        cues: kind of cue -> its words (`rules/tables/words.toml` says what each does).
        commands: words with which a command line begins.
        light: stems of no weight when contents are compared.
        synonyms: stem -> the stem that is used for it.
        antonyms: word -> its opposites.
        distinct: word -> words that make another statement of one that has it, opposites included.
        scopes: dimension -> word -> value.
        place: what is before and after a scope's words, and scopes headings do not tell.
        alternatives: stem -> what is chosen, and the word of the table for that choice.
        versions: word -> the thing whose version a number after it is.
        services: stems of what listens on a port.

    """

    digest: str
    cues: Mapping[str, frozenset[str]]
    commands: frozenset[str]
    light: frozenset[str]
    synonyms: Mapping[str, str]
    antonyms: Mapping[str, frozenset[str]]
    distinct: Mapping[str, frozenset[str]]
    scopes: Mapping[str, Mapping[str, str]]
    place: Mapping[str, frozenset[str]]
    alternatives: Mapping[str, tuple[str, str]]
    versions: Mapping[str, str]
    services: frozenset[str]

    def __hash__(self) -> int:
        """Hash by what the tables say, so that readings can be kept."""
        return hash(self.digest)


@cache
def load_standard() -> Lexicon:
    """Return the product's own tables."""
    return _made(_shipped())


def load_extended(written: str, *, origin: str = "rules.toml") -> Lexicon:
    """Return the product's tables with those of a TOML text added.

    Lists grow, anything new is added, nothing is taken away. Raises `ConfigurationError` for a text
    that is no TOML or has other tables.
    """
    try:
        known = _shipped()
        added = {key: _merged(known[key], its) for key, its in tomllib.loads(written).items()}
        return _made({**known, **added})
    except (tomllib.TOMLDecodeError, TypeError, KeyError, AttributeError, re.error) as error:
        raise ConfigurationError(
            f"cannot read the rules in {origin}: {error}; "
            "compare it with the tables in docs/contradictions.md, or move it away"
        ) from error


def _shipped() -> dict[str, Any]:
    """Return the tables of the wheel as one."""
    read = [load_table(name, package="rules") for name in TABLES]
    return {key: value for each in read for key, value in each.items()}


def _merged(known: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    """Return two tables as one: tables by key, lists one after the other."""
    merged = dict(known)
    for key, value in added.items():
        if key not in known:
            merged[key] = value
        elif isinstance(value, dict):
            merged[key] = _merged(known[key], value)
        elif isinstance(value, list):
            merged[key] = [*known[key], *value]
        else:
            merged[key] = value
    return merged


def _made(table: Mapping[str, Any]) -> Lexicon:
    """Return tables as they are asked."""
    cues = {kind: frozenset(words) for kind, words in table["cues"].items()}
    synonyms = {
        stem(word): stem(group[0]) for group in table["words"]["synonyms"] for word in group
    }
    return Lexicon(
        digest=hashlib.sha256(repr((VERSION, sorted(table.items()))).encode()).hexdigest(),
        cues=cues,
        commands=frozenset(table["words"]["commands"]),
        light=frozenset(map(stem, table["words"]["light"])),
        synonyms=synonyms,
        antonyms=_opposites(table["words"]["antonyms"]),
        distinct=_opposites(
            [
                *table["words"]["antonyms"],
                *table["words"]["distinct"],
                *table["alternatives"].values(),
            ]
        ),
        scopes={
            dimension: {word: value for value, words in values.items() for word in words}
            for dimension, values in table["scopes"].items()
        },
        place={key: frozenset(words) for key, words in table["place"].items()},
        alternatives={
            synonyms.get(stem(word), stem(word)): (slot, word)
            for slot, words in table["alternatives"].items()
            for word in words
        },
        versions={word: slot for slot, words in table["versions"].items() for word in words},
        services=frozenset(map(stem, table["words"]["services"])),
    )


def _opposites(groups: Iterable[list[str]]) -> dict[str, frozenset[str]]:
    """Return word -> the others of its groups."""
    found: dict[str, frozenset[str]] = {}
    for group in groups:
        for word in group:
            found[word] = found.get(word, frozenset()).union(group) - {word}
    return found


#: Words that say nothing of what a text is about, in lower case.
STOP_WORDS: frozenset[str] = frozenset(load_table("keywords")["stop"].split())

#: What speaks for each category, each tag and each domain.
CATEGORIES: Mapping[str, tuple[str, ...]]
TAGS: Mapping[str, tuple[str, ...]]
DOMAINS: Mapping[str, tuple[str, ...]]
CATEGORIES, TAGS, DOMAINS = (
    {key: tuple(words) for key, words in load_table("keywords")[kind].items()}
    for kind in ("categories", "tags", "domains")
)

#: Names of tools and languages: they take a plural and nothing else, for "rusted" is not Rust and
#: "reacted" is not React.
_NAMES = frozenset(
    word
    for domain in ("elixir", "go", "javascript", "python", "ruby", "rust")
    for word in DOMAINS[domain]
)

_KEYWORD = re.compile(r"\w+")


def find_keywords(text: str) -> set[str]:
    """Return every keyword that occurs in a text, inflected or not; a line's end is a blank.

    The text's words are looked up among all forms of all keywords: searching for each keyword took
    as long as everything else that is done with a file. What is no single word is searched for.
    """
    text = " ".join(text.lower().replace("\u2019", "'").split())
    found = {word for form in set(_KEYWORD.findall(text)) for word in _forms().get(form, ())}
    # What is no single word occurs by itself, with or without an s.
    some = (word for word in _phrases() if word in text)
    found.update(w for w in some if re.search(rf"(?<!\w){re.escape(w)}s?(?!\w)", text))
    return found


@cache
def _forms() -> dict[str, list[str]]:
    """Return every form of every keyword that is one word -> the keywords it is a form of."""
    forms: dict[str, list[str]] = {}
    for word in _all():
        if word.isalpha():
            for form in {word, *_inflected(word)}:
                forms.setdefault(form, []).append(word)
    return forms


@cache
def _phrases() -> tuple[str, ...]:
    """Return the keywords that are more, or something else, than one word."""
    return tuple(word for word in _all() if not word.isalpha())


def _all() -> list[str]:
    """Return every keyword once."""
    tables = (CATEGORIES, TAGS, DOMAINS)
    return list(
        dict.fromkeys(each for table in tables for words in table.values() for each in words)
    )


def _inflected(word: str) -> Iterator[str]:
    """Yield the forms of a word beside itself."""
    stem, last = word[:-1], word[-1]
    if word in _NAMES:
        endings: tuple[str, ...] = (f"{last}s",)
    elif last == "e":
        endings = ("es", "ed", "ing")
    elif last == "y":
        endings = ("ies", "ied", "ying")
    else:
        twice = (f"{last}{each}{ending}" for each in ("", last) for ending in ("ed", "ing"))
        endings = (f"{last}s", f"{last}es", *twice)
    return (stem + ending for ending in endings)


#: Signs that end a clause; what was forbidden before them does not reach beyond.
_ENDS = frozenset(".;!?()\u2014\u2192\u3002\uff1b|")

#: Before a full stop that ends no clause.
_SHORTENED = frozenset({"e.g", "i.e", "etc", "vs", "cf"})

#: Between two verbs of one clause: the second one is under what the first is under.
_JOINING = frozenset({"or", "and", "to", "nor", ",", "oder", "und", "/"})

#: How many words an auxiliary is before its participle at most: "must not ever be used".
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


def find_senses(wording: Wording, lexicon: Lexicon) -> tuple[Sense, ...]:
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
        #: Where the clause began, where its "not" is, and where a "prefer" or an "only" does.
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
            after = self._words[number + 1].text if number + 1 < len(self._words) else ""
            if inside is Sense.AGAINST and after in self._cues["explaining"]:
                inside = Sense.ONLY
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
        """Turn what is before a participle: "comments are forbidden", "are not needed"."""
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
        """Whether a participle is said of what is before: "is omitted", "are off"."""
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
        """Whether "not allowed", "is not needed" is here, said of what is before."""
        if self._against < 0 or number - self._against > _NEAR or self._against == self._began:
            return False
        between = self._words[self._against - 1 : number]
        return any(each.text in _BEING for each in between)

    def _is_contrast(self, number: int, text: str) -> bool:
        """Whether what follows is what is not wanted, beside what is before."""
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
