"""A statement as the rules understand it, read once and kept.

Its words, with what it does with each; the parts of its sentences; versions, ports and choices
between alternatives; and small things that decide a comparison, as a label.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from cortex_actors.text.lexicon import STOP_WORDS, Sense, Wording, find_senses, read_wording, stem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from cortex_actors.domain.insight import Claim
    from cortex_actors.text.lexicon import Lexicon, Word


#: Where a range has no end.
_ENDLESS = 1e9

#: What a version's first number counts for, where versions are ordered as one number.
_MAJOR = 1e6

#: Words of numbers -> the numbers.
SPELT = {
    each: number
    for number, each in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
}

#: How slots of ports begin, before the name of what listens there.
PORT = "port of "

_PORT = re.compile(
    r"(?:\bports?\W{0,3}|localhost:|127\.0\.0\.1:|0\.0\.0\.0:|--port[= ]|(?<![\w.]):)"
    r"(?P<number>\d{2,5})\b"
)

_VERSION = re.compile(
    r"(?<![\w.@/-])(?P<thing>[a-z#.+/]{1,12}(?: [a-z]{2,6})?)[\s:`\"'=*]{0,3}"
    r"(?:version[\s:`\"'=*]{0,3}|v)?(?:is |to |of )?"
    r"(?P<sign>>=|<=|==|~=|\^|~|>|<|at least |at most )? ?v?(?P<number>\d{1,4}(?:\.\d{1,4}){0,3})"
    r"(?P<more>\+|\.x| or (?:later|newer|higher|above|greater)| and (?:later|above|up))?"
    r"(?P<to> ?(?:-|\u2013|\u2014|to|through|and) ?v?\d[\d.]*)?(?![\w%]|[ ~-]spaces?\b)"
)


@dataclass(frozen=True, slots=True)
class Range:
    """What a statement allows of one measure, ends included."""

    slot: str
    least: float
    most: float
    shown: str

    def meets(self, other: Range) -> bool:
        """Whether some value is right for both."""
        return self.least <= other.most and other.least <= self.most

    def get_bounds(self) -> tuple[float, float]:
        """Return both ends, which two equal ranges share."""
        return self.least, self.most


def find_ranges(said: Wording, senses: Sequence[Sense], *, lexicon: Lexicon) -> dict[str, Range]:
    """Return slot -> what a statement allows of a version, or which port it gives a service.

    What is given two numbers in one statement is left out: which one counts, and where, cannot be
    told. So is a number that it is against: "3.12, not 3.10".
    """
    found: dict[str, Range] = {}
    if not any(map(str.isdigit, said.plain)):
        return found
    denied = {
        word.start
        for word, sense in zip(said.words, senses, strict=True)
        if sense is Sense.AGAINST and word.text[0].isdigit()
    }
    double: set[str] = set()
    for each in (*_versions(said.plain, denied, lexicon), *_ports(said, denied, lexicon)):
        if found.setdefault(each.slot, each).get_bounds() != each.get_bounds():
            double.add(each.slot)
    return {slot: each for slot, each in found.items() if slot not in double}


def _versions(plain: str, denied: set[int], lexicon: Lexicon) -> Iterator[Range]:
    """Yield the versions that a text names, but those that begin where it is against them."""
    for match in _VERSION.finditer(plain):
        # The thing whose version follows; the longer of two names.
        words = match["thing"]
        named = words.strip(" :(*-").removesuffix(" version").strip()
        slot = lexicon.versions.get(named) or lexicon.versions.get(named.rpartition(" ")[2])
        if slot is None or match["to"] or match.start("number") in denied:
            continue
        number = _numeric(match["number"])
        shown = f"{slot} {match['number']}{match['more'] or ''}"
        sign, more = (match["sign"] or "").strip(), match["more"]
        if sign in {">=", ">", "at least"} or (more and more != ".x"):
            yield Range(f"version of {slot}", number, _ENDLESS, shown)
        elif sign in {"<=", "<", "at most"}:
            yield Range(f"version of {slot}", -_ENDLESS, number, shown)
        else:
            yield Range(f"version of {slot}", number, _last(match["number"]), shown)


def _ports(said: Wording, denied: set[int], lexicon: Lexicon) -> Iterator[Range]:
    """Yield the ports of services that a text names: "the backend listens on port 8000"."""
    for match in _PORT.finditer(said.plain):
        before = [each for each in said.words if each.end <= match.start() and not each.code]
        named = [each.stem for each in before if each.stem in lexicon.services]
        if named and match.start("number") not in denied:
            number = float(match["number"])
            yield Range(f"{PORT}{named[-1]}", number, number, match["number"])


def _numeric(version: str) -> float:
    """Return a version as one number by which versions are ordered."""
    parts = [*map(int, version.split(".")), 0, 0][:3]
    return parts[0] * _MAJOR + parts[1] * 1e3 + parts[2]


def _last(version: str) -> float:
    """Return the last release that a version means: 3.11 is all of 3.11.x."""
    parts = version.split(".")
    step = {1: _MAJOR, 2: 1e3}.get(len(parts), 1)
    return _numeric(version) + step - 1


#: What begins a remark on a command line.
_REMARK = re.compile(r"\s(?:#|-|\u2013|\u2014)\s")

#: Words of a label at most, and the last letter of Latin scripts.
_LABEL, _LATIN = 4, "\u024f"


def find_label(words: Sequence[Word]) -> frozenset[str]:
    """Return the words before the colon with which a statement begins: "Formatting: ruff"."""
    for number, word in enumerate(words[: _LABEL + 1]):
        if word.text == ":" and not word.code:
            return frozenset(each.stem for each in words[:number] if each.is_word)
    return frozenset()


def find_command(text: str, said: Wording, lexicon: Lexicon) -> str:
    """Return the command line that a statement is, without what is said of it; "" for none."""
    first = said.words[0] if said.words else None
    if first is None or first.text not in lexicon.commands or first.proper:
        return ""
    if first.code:
        return " ".join(word.text for word in said.words if word.code == first.code)
    return " ".join(_REMARK.split(text.lower(), maxsplit=1)[0].split())


def is_foreign(plain: str) -> bool:
    """Whether a text is mostly in a script other than the Latin one."""
    letters = [letter for letter in plain if letter.isalpha()]
    return sum(letter > _LATIN for letter in letters) * 3 > len(letters)


#: Readings kept: a statement is compared with many neighbours, mostly one after the other.
KEPT = 20_000

#: Words of the place with which a statement begins, at most, and what is before it.
_PLACE, _WITHIN = 8, frozenset({"in", "inside", "within", "for", "under", "on"})

#: What makes a statement hold only now and then: it is compared, and merged only with its like.
_CONDITIONS = frozenset(
    "if when whenever unless while once except until during wenn falls cuando si quand".split()
)

#: What takes something out again.
_EXCEPTIONS = frozenset({"but", "except", "unless", "excluding", "aber", "außer", "pero", "mais"})

#: Signs after which a statement says another thing.
_STOPS = frozenset(".;!?")
_ENDS = _STOPS | {"\u2014", ":"}

#: Words that may be between a verb and what forbids it: "and then do not".
_ORDERING = frozenset("do please always also and then but so ever".split())

#: What is before a prohibition that is an order, and no report of what does not happen.
_DEMANDING = frozenset({"(", "you", "must", "should", "shall", "may", "have"})

#: What denies without ordering it.
_BARE = frozenset({"no", "without", "neither", "nor"})

#: Between things of which each is meant: "lint, types or tests".
_JOINING = frozenset({",", "or", "and", "nor", "/", "&"})

_NUMBER = re.compile(r"v?\d[\d.,]*[%+x]?")
_SIGNED = re.compile(r"[./_@#]")
_HEADING = re.compile(r"[^\w.+#-]+")


@dataclass(frozen=True, slots=True)
class ClaimPosition:
    """Which of several alternatives one statement wants, and which it is against."""

    wanted: frozenset[str]
    forbidden: frozenset[str]

    @property
    def stand(self) -> frozenset[str]:
        """What it is for or against; empty where it wants several."""
        if len(self.wanted) > 1:
            return frozenset()
        return self.wanted or frozenset(f"no {each}" for each in self.forbidden)


def find_positions(
    words: Sequence[Word], senses: Sequence[Sense], lexicon: Lexicon
) -> dict[str, ClaimPosition]:
    """Return slot -> what a statement chooses there; a tool that is run, `npm ci`, is no choice."""
    found: dict[str, dict[str, Sense]] = {}
    for number, (word, sense) in enumerate(zip(words, senses, strict=True)):
        plain = stem(word.text)
        plain = lexicon.synonyms.get(plain, plain)
        known = lexicon.alternatives.get(plain)
        if known is None or sense in {Sense.ONLY, Sense.BESIDE}:
            continue
        beside = words[number + 1 : number + 2]
        is_aside = number > 0 and words[number - 1].text in lexicon.cues["aside"]
        if not is_aside and not (beside and beside[0].code == word.code > 0):
            found.setdefault(known[0], {})[known[1]] = sense
    return {
        slot: ClaimPosition(
            frozenset(each for each, sense in its.items() if sense is Sense.WANTED),
            frozenset(each for each, sense in its.items() if sense is not Sense.WANTED),
        )
        for slot, its in found.items()
    }


@dataclass(frozen=True, slots=True)
class ClaimPart:
    """Words in a row of one sentence that a statement does one thing with.

    Attributes:
        sentence: which of the statement's sentences they are in, from 0.
        orders: whether they are forbidden by an order: "never", "you must not".
        stems: what they say, in their order, without light words.
        texts: the words of these stems.
        names: those of them that are code.
        listed: those of something denied of which each is meant: "lint, types or tests".
        manner: those of something denied that say how it is done: "casually", "blindly".
        doing: those that only name what is done: "before publishing".
        condition: stems of the rest of the sentence, from "if", "when" and their like on.

    """

    sense: Sense
    sentence: int
    orders: bool
    stems: tuple[str, ...]
    texts: tuple[str, ...]
    names: frozenset[str]
    listed: frozenset[str]
    manner: frozenset[str]
    doing: frozenset[str]
    condition: frozenset[str]

    def find_words(self, stems: Collection[str]) -> str:
        """Return the words of some of its stems."""
        both = zip(self.stems, self.texts, strict=True)
        return " ".join(dict.fromkeys(text for each, text in both if each in stems))


@dataclass(frozen=True, slots=True)
class ClaimReading:
    """What one statement says.

    Attributes:
        stems: every word that says something -> what the statement does with it.
        bare: those of them that are outside parentheses.
        names: code, paths and other words that are written in one way only, but for examples.
        numbers: every number, spelt out or not.
        conditional: whether it holds only if or when something is so.
        excepting: whether it takes something out again.
        denying: whether it is against something.
        label, command, foreign: see the functions of these names.
        unfinished: whether something follows that it only announces.
        places: dimension -> values in which it holds; a dimension that is missing is not limited.
        within: stems of the place with which it begins: "inside `tests/` use ...".

    """

    wording: Wording
    parts: tuple[ClaimPart, ...]
    stems: Mapping[str, Sense]
    bare: frozenset[str]
    names: frozenset[str]
    numbers: frozenset[str]
    positions: Mapping[str, ClaimPosition]
    ranges: Mapping[str, Range]
    places: Mapping[str, frozenset[str]]
    within: frozenset[str]
    conditional: bool
    excepting: bool
    denying: bool
    label: frozenset[str]
    command: str
    foreign: bool
    unfinished: bool

    def is_wanted(self, word: str) -> bool:
        """Tell whether a word is not denied; a word that only holds others together never is."""
        return self.stems.get(stem(word), Sense.WANTED) is Sense.WANTED


@lru_cache(maxsize=KEPT)
def read(claim: Claim, lexicon: Lexicon) -> ClaimReading:
    """Return what a statement says; what is above it only says what it is about."""
    said = read_wording(claim.text)
    turned = find_senses(said, lexicon)
    label = frozenset(lexicon.synonyms.get(each, each) for each in find_label(said.words))
    weights = [find_weighty_stem(word, lexicon) for word in said.words]
    plain = list(_without_examples(said.words))
    parts = tuple(_Cutter(said.words, turned, weights, lexicon).parts())
    return ClaimReading(
        wording=said,
        parts=parts,
        stems=_stems(parts),
        bare=frozenset(filter(None, map(weights.__getitem__, plain))),
        names=frozenset(said.words[n].text for n in plain if _is_name(said.words[n])),
        numbers=frozenset(filter(_is_number, (word.text for word in said.words))),
        positions=find_positions(said.words, turned, lexicon),
        ranges=find_ranges(said, turned, lexicon=lexicon),
        places=_places(claim, said.words, lexicon),
        within=frozenset(filter(None, (weights[n] for n in _opening(said.words)))),
        excepting=any(word.text in _EXCEPTIONS for word in said.words if not word.code),
        denying=Sense.AGAINST in turned,
        label=label,
        command=find_command(claim.text, said, lexicon),
        foreign=is_foreign(said.plain),
        unfinished=said.plain.rstrip(" *`").endswith((":", "\uff1a")),
        conditional=Sense.ONLY in turned
        or any(word.text in _CONDITIONS for word in said.words if not word.code),
    )


@lru_cache(maxsize=KEPT)
def find_slots(text: str, lexicon: Lexicon) -> frozenset[str]:
    """Return the topic slots of a statement: the subjects on which it says something.

    They are those of `read`, at two fifths of its cost: for statements of which most are never
    judged.
    """
    said = read_wording(text)
    turned = find_senses(said, lexicon)
    found = find_ranges(said, turned, lexicon=lexicon)
    return frozenset(find_positions(said.words, turned, lexicon)) | found.keys()


def find_weighty_stem(word: Word, lexicon: Lexicon) -> str | None:
    """Return the stem a word is compared by, or None for one that says nothing by itself."""
    if not word.is_word:
        return None
    # `type` and "types" are one thing.
    plain = stem(word.text)
    found = lexicon.synonyms.get(plain, plain)
    if word.code:
        return found
    holds = word.text in STOP_WORDS or word.text in _turning(lexicon)
    return None if holds or found in lexicon.light else found


@lru_cache(maxsize=8)
def _turning(lexicon: Lexicon) -> frozenset[str]:
    """Return the words that turn a statement: they are read as its sense."""
    cues = lexicon.cues
    return cues["against"] | cues["towards"] | cues["only"] | cues["contrast"]


def _without_examples(words: Sequence[Word]) -> Iterator[int]:
    """Yield which words are outside parentheses: inside one explains or gives examples."""
    depth = 0
    for number, word in enumerate(words):
        if word.text in "()" and not word.code:
            depth = max(0, depth + (1 if word.text == "(" else -1))
        elif not depth:
            yield number


class _Cutter:
    """Cuts the words of a statement into parts."""

    def __init__(
        self,
        words: Sequence[Word],
        turned: Sequence[Sense],
        said: Sequence[str | None],
        lexicon: Lexicon,
    ) -> None:
        self._words, self._turned, self._said = words, turned, said
        self._supposing = lexicon.cues["supposing"]
        self._against = lexicon.cues["against"]

    def parts(self) -> Iterator[ClaimPart]:
        """Yield the parts that say something."""
        since = sentence = 0
        for number in (*self._ends(_ENDS), len(self._words)):
            first = since
            for each in range(since, number):
                if each + 1 == number or self._turned[each + 1] is not self._turned[first]:
                    part = self._part(since, first, each + 1, sentence=sentence)
                    if part.stems or part.condition:
                        yield part
                    first = each + 1
            since = number + 1
            sentence += number < len(self._words) and self._words[number].text in _STOPS

    def _ends(self, signs: frozenset[str], since: int = 0) -> Iterator[int]:
        """Yield where some of the signs are, from a word on."""
        for number in range(since, len(self._words)):
            if self._words[number].text in signs and not self._words[number].code:
                yield number

    def _part(self, since: int, first: int, end: int, *, sentence: int) -> ClaimPart:
        """Return the part between two words of a sentence that begins at a third one."""
        words = self._words
        said = [(n, stem) for n in range(first, end) if (stem := self._said[n])]
        until = next(self._ends(_STOPS, first), len(words))
        ifs = (n for n in range(first + 1, end) if words[n].text in self._supposing)
        begins = next(ifs, until)
        # Only of what is denied is asked how, and whether each word is meant for itself.
        denied = said if self._turned[first] in {Sense.AGAINST, Sense.BARRED} else []
        return ClaimPart(
            self._turned[first],
            sentence,
            orders=bool(denied) and self._is_order(since, denied[0][0]),
            stems=tuple(stem for n, stem in said if n < begins),
            texts=tuple(words[n].text for n, _ in said if n < begins),
            names=frozenset(stem for n, stem in said if words[n].code),
            listed=frozenset(stem for n, stem in denied if self._is_listed(n)),
            manner=frozenset(stem for n, stem in denied if words[n].text.endswith("ly")),
            doing=frozenset(stem for n, stem in said if words[n].text.endswith("ing")),
            condition=frozenset(filter(None, self._said[begins:until])),
        )

    def _is_listed(self, number: int) -> bool:
        """Whether a word, or the code it is part of, is beside "or", "and" or a comma."""
        words, first, last = self._words, number, number
        if code := words[number].code:
            while first and words[first - 1].code == code:
                first -= 1
            while last + 1 < len(words) and words[last + 1].code == code:
                last += 1
        beside = (*words[max(0, first - 1) : first], *words[last + 1 : last + 2])
        return any(each.text in _JOINING for each in beside)

    def _is_order(self, since: int, first: int) -> bool:
        """Whether what begins with a word of a sentence is forbidden by an order."""
        words, place = self._words, first - 1
        while place >= since and words[place].text not in self._against:
            place -= 1
        if place < since:
            # "Comments are forbidden" begins with what it forbids.
            return not any(each.is_word for each in words[since:first])
        denial = words[place].text
        # "No barrel files" orders it where nothing is before it; "no default: -" is a row.
        if denial in _BARE and (denial != "no" or place or find_label(words)):
            return False
        while place > since and words[place - 1].text in _ORDERING:
            place -= 1
        before = words[place - 1].text
        # "Do not log" orders it; "not the log" names another thing than what is meant.
        begins = place == since and words[place].text != "not"
        return begins or before in _DEMANDING or (before == "," and denial == "never")


def _stems(parts: Sequence[ClaimPart]) -> dict[str, Sense]:
    """Return each stem with what the statement does with it; wanted once is wanted."""
    found: dict[str, Sense] = {}
    for part in parts:
        for each in part.stems:
            if found.get(each) is not Sense.WANTED:
                found[each] = part.sense
    for part in parts:
        for each in sorted(part.condition):
            found.setdefault(each, part.sense)
    return found


def _is_number(word: str) -> bool:
    """Whether a word is a number of several; "one" mostly is none."""
    return _NUMBER.fullmatch(word) is not None or SPELT.get(word, 0) > 1


def spell_in_digits(word: str) -> str:
    """Return a word, a number that is spelt out in digits."""
    return str(SPELT[word]) if SPELT.get(word, 0) > 1 else word


def _is_name(word: Word) -> bool:
    """Whether a word is written in one way only."""
    if word.code:
        return word.is_word
    return not word.text.isalpha() and word.is_word and _SIGNED.search(word.text) is not None


@lru_cache(maxsize=8)
def _located(lexicon: Lexicon) -> frozenset[str]:
    """Return the words that say where a statement holds."""
    return frozenset(word for values in lexicon.scopes.values() for word in values)


def _places(claim: Claim, words: Sequence[Word], lexicon: Lexicon) -> dict[str, frozenset[str]]:
    """Return where a statement holds, by its own words and else by the nearest heading's."""
    heading = (claim.heading or "").rpartition(" > ")[2].lower()
    above = {each for each in _HEADING.split(heading) if each}
    known = _located(lexicon)
    own = {
        word.text
        for number, word in enumerate(words)
        if word.text in known and _tells(words, number, lexicon)
    }
    found: dict[str, frozenset[str]] = {}
    for dimension, values in lexicon.scopes.items():
        for some in (own,) if dimension in lexicon.place["own"] else (own, above):
            named = frozenset(values[word] for word in some if word in values)
            if named:
                found[dimension] = named
                break
    return found


def _opening(words: Sequence[Word]) -> Iterator[int]:
    """Yield which words name the place with which a statement begins, up to a comma."""
    if not words or words[0].text not in _WITHIN:
        return
    for number, word in enumerate(words[1 : _PLACE + 1], 1):
        named = number > 1 and words[number - 1].code and word.code != words[number - 1].code
        if named or word.text in {",", ":"}:
            return
        yield number


def _tells(words: Sequence[Word], number: int, lexicon: Lexicon) -> bool:
    """Whether a word is where a statement says for what it holds: "for Python", "UI code"."""
    if words[number].code:
        return False
    before = words[max(0, number - 3) : number]
    after = words[number + 1].text if number + 1 < len(words) else ""
    return after in lexicon.place["after"] or any(
        each.text in lexicon.place["before"] for each in before
    )
