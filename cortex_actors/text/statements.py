"""A long text as sentences that are understood alone.

A text that people keep in one list item is mostly one thing, so it is left whole unless it is
long. A paragraph is more often several rules in a row, of which another file repeats one.

What a file says that no one would repeat or contradict: names, links, pointers, metadata.

What to type: which text is a command line, and which lines of a fence are.

A section to the statements it makes: list items, paragraphs, table rows and commands.

A statement is what another file would repeat, or contradict. Each keeps what is above it:
headings, a label in bold type, the sentence that introduces the list, the item it is nested in. One
that is under `Never:` or `Don'ts` says the opposite without those words, so it gets them.

What a statement does: it orders something, says how it is, or shows it.

What is above a statement, and whether that forbids what it says.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from cortex_actors.domain.project import Fragment, Statement, StatementKind
from cortex_actors.text import outline as tables
from cortex_actors.text.lexicon import load_patterns, load_table
from cortex_actors.text.markdown import Heading, HeadingTrail, parse_heading, split_lines
from cortex_actors.text.outline import Block, BlockForm, TextRun, outline, split_runs, spread

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_TABLE, _PATTERNS = load_table("statements"), load_patterns("statements")

#: Words that a statement has at least: one names something and says nothing of it.
_WORDS = 2

#: Signs of a statement in letters that are words.
_MOST_SIGNS = 4

_SIGN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_NOISE_WORD = re.compile(r"[^\W_][\w'\u2019+#.-]*")

#: Code, links and addresses; of a link the text stays.
_ANY_CODE = re.compile(r"`[^`]*`")
_LINK = re.compile(r"!?\[([^\[\]]{0,400})\]\([^()\s]{0,1000}\)|<?https?://[^\s<>)]{1,1000}>?")

#: A path, or a name of a file.
_PATH = re.compile(r"[~.]{0,2}/?(?:[\w.@*<>{}-]+/)*[\w.@*<>{}-]*(?:/|\.[A-Za-z]{1,10})")

#: A list entry that is a link and what is behind it.
_ENTRY = re.compile(
    r"\W{0,4}\[[^\[\]]{1,400}\]\([^()\s]{1,1000}\)[*_]{0,3}(?:\s*$|\s*[-\u2013\u2014:])"
)

#: A sentence that only says where to read on.
_POINTER = _PATTERNS["pointer"]

#: Words that make a rule of a sentence about reading.
_WHEN = re.compile(r"\b(?:before|first|must|always|never|whenever|when|after)\b", re.IGNORECASE)

#: What a document says of itself.
_METADATA = _PATTERNS["metadata"]

#: A name and what it amounts to: `**Python**: >=3.10`, `Timeout: 30s`.
_FIGURE = re.compile(r"[:=\u2013\u2014-][*_`\s]*[<>=~^\u2264\u2265v]{0,3}\s?\d")

#: A name and its one value in code: `Constants: `UPPER_SNAKE_CASE``.
_VALUE = re.compile(r"[\s*_]*\w[\w -]{0,40}[*_]{0,3}:[*_]{0,3} `[\w-]+`\W*")

#: How a question ends.
_QUESTION = re.compile(r"[?\uff1f][\s*_]*$")

_END = re.compile(r"[.!?]\s")

#: Lines that draw a tree of folders.
_TREE = re.compile(r"[\u2500-\u257f]{2}|\u2502")

#: Characters of a pointer, and of metadata, beyond which something else is said, too.
_POINTER_MOST, _METADATA_MOST = 200, 120


def is_noise(text: str) -> bool:
    """Whether a text says nothing by itself; linear."""
    if _TREE.search(text) or _ENTRY.match(text) or _asks(text):
        return True
    if len(text) <= _METADATA_MOST and _METADATA.match(text):
        return True
    if len(text) <= _POINTER_MOST and _POINTER.match(text) and _only_points(text):
        return True
    plain = _LINK.sub(lambda found: found[1] or "", text)
    bare = _ANY_CODE.sub(" ", plain)
    if _said(bare) >= _WORDS or len(_SIGN.findall(bare)) >= _MOST_SIGNS:
        return False
    # A name and a figure say something, and so does a word with code: `No unwrap()`. Paths do not.
    if (_FIGURE.search(text) and _said(bare)) or _VALUE.fullmatch(text):
        return False
    return not _said(bare) or _said(plain) < _WORDS or not _ANY_CODE.search(plain)


def _asks(text: str) -> bool:
    """Whether a text is one question, which says nothing."""
    return _END.search(text) is None and bool(_QUESTION.search(text, max(0, len(text) - 4)))


def _only_points(text: str) -> bool:
    """Whether a text names what to read in one sentence, and does not say when it must be read."""
    if _WHEN.search(text) or _END.search(text):
        return False
    has_path = any(_PATH.fullmatch(word.strip(".,;:()")) for word in text.split())
    return has_path or bool(_ANY_CODE.search(text) or _LINK.search(text))


def _said(text: str) -> int:
    """Return how many words a text has, paths and figures left out; no more than are asked for."""
    found = 0
    for each in text.split():
        word = each.strip(".,;:()*_`\"'")
        if _NOISE_WORD.match(word) is not None and _PATH.fullmatch(word) is None:
            found += 1
            if found == _WORDS:
                break
    return found


#: Bytes of a list item that stays whole: three sentences of an ordinary one, and a fourth of what
#: an embedding model reads of a text. Bytes, because a Chinese sign is half a word and has three.
ITEM = 280

#: Bytes of a paragraph that stays whole: two short sentences.
PARAGRAPH = 120

#: Bytes of a sentence that says something by itself.
_ALONE = 25

#: What may be a sentence's end, and what hides one: code, and text in brackets.
_TOKEN = re.compile(
    r"`[^`]*`|[(\[]|[)\]]"
    r"|(?P<end>(?<![.!?\u2026])[.!?\u2026]++[\"'\u201d\u2019)\]*_]{0,3}[ ]+"
    r"(?=[\"'\u201c\u2018(\[*_`]{0,3}[^\W_a-z])"
    r"|[\u3002\uff01\uff1f]+[\"'\u201d\u2019\u300d\u300f\uff09)]{0,2}[ ]*)"
)

#: Words that end in a dot and end no sentence; letters and numbers are none either.
_SHORT = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|vs|cf|approx|incl|esp|resp|fig|no|dr|mr|ms|st|\w|\d+)\.$",
    re.IGNORECASE,
)

#: How a sentence begins that means nothing without the one before it.
_LEANS = _PATTERNS["leans"]


def split_sentences(text: str, *, whole: int = ITEM) -> tuple[str, ...]:
    """Return a text's sentences in their order; one of that many bytes is left `whole`.

    One that leans on the sentence before it, or is a few words only, stays with it. Joined with
    spaces they are the text. Linear.
    """
    if len(text.encode()) <= whole:
        return (text,)
    found: list[list[str]] = []
    length = 0
    for piece in _pieces(text):
        size = len(piece.encode())
        if found and (length < _ALONE or size < _ALONE or _LEANS.match(piece)):
            found[-1].append(piece)
        else:
            found.append([piece])
            length = 0
        length += size
    return tuple(" ".join(pieces) for pieces in found)


def _pieces(text: str) -> Iterator[str]:
    """Yield a text's sentences as the signs between them tell."""
    begin = depth = 0
    for token in _TOKEN.finditer(text):
        if token["end"] is None:
            depth = max(0, depth + {"(": 1, "[": 1, ")": -1, "]": -1}.get(token[0], 0))
        elif depth == 0 and not _SHORT.search(
            text, max(begin, token.start() - 8), token.start() + 1
        ):
            yield text[begin : token.end()].strip()
            begin = token.end()
    if text[begin:].strip():
        yield text[begin:].strip()


#: The word behind a fence of commands; a fence without a language may be one, too.
_SHELLS = frozenset(
    {"", "bash", "sh", "shell", "zsh", "fish", "console", "terminal", "shell-session", "powershell"}
    | {"ps1", "pwsh", "cmd", "bat", "batch"}
)

#: Fences in which a program need not be known, such as the project's own: they hold what is typed.
#: A terminal shows what came of it, too.
_TYPED = frozenset({"bash", "sh", "shell", "zsh", "fish"})

#: Commands of one fence that are kept; one of more is a script.
_MOST = 40

#: Programs that instruction files tell agents to run.
_PROGRAMS = frozenset(_TABLE["words"]["programs"].split())

#: Programs that tell nothing unless another follows.
_TRIVIAL = frozenset("cd ls export source mkdir cat echo cp mv rm grep kill vim".split())

_PROMPT = re.compile(r"\A(?:[$%#>]|PS>|C:\\>)[ \t]+")
_SETTING = re.compile(r"\A(?:[A-Z_][A-Z0-9_]*=\S*[ \t]+)+")
_SCRIPT = re.compile(r"(?:if|for|while|case|function|until)\b.*|.*<<|[\w-]+\(\)")
_COMMAND_PATH = re.compile(r"\.{0,2}/?(?:[\w.-]+/)+[\w.-]+|\./[\w.-]+")
#: A program and what it is given; no value that is set, and no line of Python.
_CALL = re.compile(r"(?!from |import )[a-z][\w.-]*(?:/[\w.-]+)*[ \t]+(?!=)\S")
_COMMENT = re.compile(r"(?:#|REM\b|//)[ \t]*")


class Command(NamedTuple):
    """A command line, and the comment above it; lines are counted from 0 in the fence."""

    first: int
    last: int
    text: str
    above: str = ""
    #: The first line of that comment.
    above_first: int = 0

    @property
    def bare(self) -> str:
        """The command without the comment behind it."""
        return self.text.split(" # ", maxsplit=1)[0]


def is_command(text: str) -> bool:
    """Whether a text is a command line: a program that is known, or a path, and its arguments."""
    bare = _SETTING.sub("", _PROMPT.sub("", text, count=1), count=1)
    words = bare.split(maxsplit=1)
    if not words:
        return False
    if _COMMAND_PATH.fullmatch(words[0]):
        return words[0].startswith(("./", "../", "bin/", "scripts/", "script/")) or len(words) > 1
    return words[0] in _PROGRAMS and (
        len(words) > 1 or words[0] in {"make", "pytest", "tox", "just"}
    )


def find_commands(lines: Sequence[str], language: str) -> tuple[Command, ...]:
    """Return the commands of a fence; none for a script, for output and for other languages."""
    name = language.split(" ", maxsplit=1)[0].lower().strip("{}")
    if name not in _SHELLS:
        return ()
    found = list(_read(lines))
    call = _CALL.match if name in _TYPED else is_command
    known = [each for each in found if is_command(each.text) or call(each.text)]
    is_output = not language and len(known) * 2 < len(found)
    if is_output or len(known) > _MOST or any(_SCRIPT.fullmatch(line) for line in lines):
        return ()
    return tuple(each for each in known if not _is_trivial(each.text))


def _read(lines: Sequence[str]) -> Iterator[Command]:
    """Yield every line that is no comment, those that go on joined, with what is above."""
    prompts = any(line.startswith("$ ") for line in lines)
    above, begun, commented, first = "", 0, False, -1
    parts: list[str] = []
    for number, line in enumerate(lines):
        if first < 0:
            if not line.strip():
                above, commented = "", False
                continue
            comment = _COMMENT.match(line)
            if comment is not None and not prompts:
                said = line[comment.end() :].strip(" #=-")
                above = f"{above} {said}".strip() if commented else said
                begun, commented = begun if commented else number, True
                continue
            first, commented = number, False
        parts.append(line.removesuffix("\\").strip())
        if line.endswith("\\") and number + 1 < len(lines):
            continue
        text = " ".join(" ".join(parts).split())
        if not prompts or text.startswith("$ "):
            yield Command(first, number, _PROMPT.sub("", text, count=1), above, begun)
        parts, first = [], -1


def _is_trivial(text: str) -> bool:
    """Whether a command only goes somewhere, or looks."""
    return text.split(maxsplit=1)[0] in _TRIVIAL and not re.search(r"&&|;|\|", text)


#: Words that oblige, forbid or choose, in the languages of most instruction files.
_OBLIGES = frozenset(_TABLE["words"]["obliges"].split())

#: The same in two words, and words that each of them has.
_TOGETHER = _PATTERNS["together"]
_APART = frozenset(_TABLE["words"]["apart"].split())

#: The same where words are not apart.
_SIGNS = _PATTERNS["signs"]

_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")

#: Verbs with which people tell others what to do.
_VERBS = frozenset(_TABLE["words"]["verbs"].split())

#: What follows a verb that is no order but a name: `Build: ...`, `Test files are ...`.
_NAMES = re.compile(r"[*_`]{0,3}\s?[:/-]| (?:is|are|files? (?:are|is|live))\b", re.IGNORECASE)

#: A label in front: `**Style**: use tabs`.
_LABEL = re.compile(r"\W*[^:.]{1,60}?[*_]{0,3}:[*_]{0,3}\s+")

#: What may be in front of the verb: a condition, or when.
_CONDITION = _PATTERNS["condition"]

_SHOWS = _PATTERNS["shows"]
_EXAMPLES = _PATTERNS["examples"]

_CODE = re.compile(r"`([^`]+)`")
_SIDE_BY_SIDE = re.compile(r"(?:`[^`]+`(?:[\s,;/|&+]|and\b|or\b)*)+")

#: Characters of the words around a command, beyond which they say more than what it is for.
_LABEL_MOST = 60


def find_kind(text: str, under: Sequence[str] = ()) -> StatementKind:
    """Return what a statement does, given what is above it."""
    if _shows_a_command(text):
        return StatementKind.COMMAND
    if _SHOWS.match(text) or (under and _EXAMPLES.fullmatch(under[-1])):
        return StatementKind.EXAMPLE
    if _obliges(_CODE.sub("", text)) or is_order(text):
        return StatementKind.RULE
    return StatementKind.FACT


def _obliges(text: str) -> bool:
    """Whether a text obliges, forbids or chooses; words are looked up, not searched."""
    plain = text.lower().replace("\u2019", "'")
    words = set(_WORD.findall(plain))
    if words & _OBLIGES or (words & _APART and _TOGETHER.search(plain)):
        return True
    return not plain.isascii() and _SIGNS.search(plain) is not None


def is_order(text: str) -> bool:
    """Whether a text, its label and its condition left out, begins as an order does."""
    rest = text.lstrip("*_\"'([ \u2705\u274c\u26a0\ufe0f\U0001f6ab-")
    for front in (_LABEL, _CONDITION, _CONDITION):
        if _begins_with_verb(rest):
            return True
        if found := front.match(rest):
            rest = rest[found.end() :].lstrip("*_\"'( ")
    return _begins_with_verb(rest)


def _begins_with_verb(text: str) -> bool:
    """Whether a text begins with a verb that tells, by the list of them or by what follows it."""
    word = _WORD.match(text)
    if word is not None and word[0].lower() in _VERBS:
        return _NAMES.match(text, word.end()) is None
    return _PATTERNS["order"].match(text) is not None


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


#: Characters of a text that a nested one keeps of what is above it.
_LEAD = 160

#: Words of a label in bold type; more of them say something.
_LABEL_WORDS = 8

_BOLD = re.compile(r"(?:\*\*[^*]+\*\*|__[^_]+__)[:\uff1a]?")
_FRONT = re.compile(r"\W{0,6}([^:.`]{2,60}?)[*_]{0,3}:[*_]{0,3}\s")

#: Headings and labels that forbid what is listed below them, and nothing else.
_FORBIDS = _PATTERNS["forbids"]

#: Headings and labels that take that back.
_ALLOWS = _PATTERNS["allows"]

#: A sentence that forbids what it introduces: its verb, or a word that wants more, is its last. One
#: with an object of its own (`Avoid large modules:`) forbids that, and not what follows.
_BANS = _PATTERNS["bans"]
#: One that orders what it introduces.
_ASKS = _PATTERNS["asks"]
_LEADING_CONDITION = _PATTERNS["leading_condition"]

#: Characters of a sentence whose negation reaches what it introduces.
_INTRODUCES = 100

#: How a text begins that forbids by itself.
_NEGATIVE = _PATTERNS["negative"]


class Surroundings:
    """Headings, the label of the paragraphs below it, and the items that a list is nested in."""

    def __init__(self, trail: HeadingTrail) -> None:
        """Begin under some headings."""
        self._trail = trail
        self._label = ""
        self._leads: list[tuple[int, str]] = []

    def enter_heading(self, found: Heading) -> None:
        """Come to a heading."""
        self._trail.enter(found)
        self._label, self._leads = "", []

    def enter_label(self, text: str) -> None:
        """Come to a label: it holds until the next one."""
        self._label, self._leads = text, []

    def leave(self, depth: int) -> None:
        """Leave the items that are nested as deep as that."""
        while self._leads and self._leads[-1][0] >= depth:
            self._leads.pop()

    def enter_lead(self, depth: int, text: str) -> None:
        """Come to a text that what is nested deeper belongs to."""
        self.leave(depth)
        self._leads.append((depth, text))

    @property
    def path(self) -> tuple[str, ...]:
        """What is above a statement now, outermost first."""
        inner = [self._label] if self._label else []
        leads = (text for _, text in self._leads)
        return (*self._trail.texts, *(_short(text) for text in (*inner, *leads)))

    @property
    def lead_in(self) -> str:
        """The sentence or the label that introduces what comes next; "" without one."""
        lead = self._leads[-1][1] if self._leads else self._label
        return lead if is_introduction(lead) else ""

    def add_prohibition(self, text: str) -> str:
        """Return a list's entry with the words above it that forbid it, unless it has its own."""
        forbids = self._forbids()
        return f"{forbids}: {text}" if forbids and not _NEGATIVE.match(text) else text

    def add_order(self, text: str) -> str:
        """Return a list's entry that is no order with the words that make it an order."""
        lead = self._leads[-1][1] if self._leads else ""
        return f"{strip_label(lead)}: {text}" if _reaches(lead, _ASKS) else text

    def _forbids(self) -> str:
        """Return what forbids an entry here, innermost first; empty if nothing does."""
        inner = [text for _, text in self._leads if is_introduction(text) or is_label(text)]
        for text in filter(None, (*reversed(inner), self._label, *reversed(self._trail.texts))):
            if _FORBIDS.fullmatch(text) or (is_introduction(text) and _reaches(text, _BANS)):
                return strip_label(text)
            if _ALLOWS.fullmatch(text):
                return ""
        return ""


def is_label(text: str) -> bool:
    """Whether a text only names what follows: a few words in bold type, or up to a colon."""
    is_bold = len(text.split()) <= _LABEL_WORDS and _BOLD.fullmatch(text) is not None
    return is_bold and not text.strip("*_").endswith((".", "!"))


def is_introduction(text: str) -> bool:
    """Whether a text ends where what follows begins."""
    return text.rstrip("*_ ").endswith((":", "\uff1a"))


def find_label(text: str) -> str:
    """Return the label that a text begins with, as in `**Style**: use tabs`; else an empty one."""
    found = _FRONT.match(text)
    return found[1].strip("*_ ") if found is not None else ""


def strip_label(text: str) -> str:
    """Return a label without its bold type and its colon."""
    return text.strip("*_ :\uff1a")


def _reaches(text: str, words: re.Pattern[str]) -> bool:
    """Whether a text has such words, short enough and unconditional, so that they go on below."""
    is_plain = len(text) <= _INTRODUCES and not _LEADING_CONDITION.match(text)
    return is_plain and words.search(text) is not None


def _short(text: str) -> str:
    """Return what is above something: a label as it is, of a long text its beginning."""
    plain = strip_label(text)
    return plain if len(plain) <= _LEAD else f"{plain[: _LEAD - 1].rsplit(' ', 1)[0]}\u2026"


#: Characters of a statement; what is longer and has no sentences is data.
MOST = 2_000

#: Words of a sentence that says something although code completes it.
_SAYS = 5


#: Bytes up to which a text is not cut into its sentences; the row of a table never is.
_WHOLE = {BlockForm.TEXT: ITEM, BlockForm.ITEM: ITEM, BlockForm.TABLE: 4 * MOST}


class _Said(NamedTuple):
    """A statement with the numbers of its lines in the section, from 0."""

    first: int
    last: int
    text: str
    kind: StatementKind
    headings: tuple[str, ...]
    block: Block
    lead_in: str


def find_statements(fragment: Fragment) -> tuple[Statement, ...]:
    """Return what a fragment says, in its order; pure, and linear in its bytes.

    The ranges are those of the file, in whole lines: two sentences of one line share it. Code that
    is no command, names, links, trees of folders and figures make no statement.
    """
    text = split_lines(fragment.raw, path=fragment.source_path)
    reader = _StatementReader(_surroundings(fragment, text[0].text))
    found = reader.read([block for block in outline([line.text for line in text]) if block.lines])
    return tuple(
        Statement(
            text=each.text,
            kind=each.kind,
            headings=each.headings,
            line_start=fragment.line_start + each.first,
            line_end=fragment.line_start + each.last,
            byte_start=fragment.byte_start + text[each.first].start,
            byte_end=fragment.byte_start + text[each.last].end,
            ordinal=ordinal,
            listed=0 if each.block.listed < 0 else fragment.line_start + each.block.listed,
            step=each.block.step,
            lead_in="" if each.block.listed < 0 else each.lead_in,
        )
        for ordinal, each in enumerate(found)
    )


def _surroundings(fragment: Fragment, first: str) -> Surroundings:
    """Return what is above a fragment's first line; its heading may be that line."""
    own = parse_heading(first)
    if own is not None and own.text == fragment.heading:
        return Surroundings(HeadingTrail(fragment.above, level=own.level - 1))
    trail = HeadingTrail(fragment.above, level=1)
    if fragment.heading:
        trail.enter(Heading(2, fragment.heading))
    return Surroundings(trail)


class _StatementReader:
    """The state of a reader in a section, block by block."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around

    def read(self, blocks: Sequence[Block]) -> Iterator[_Said]:
        """Yield what the blocks say."""
        told = -1
        for number, block in enumerate(blocks):
            following = blocks[number + 1] if number + 1 < len(blocks) else None
            if block.form is BlockForm.HEADING:
                self._around.enter_heading(Heading(block.level, block.lines[0]))
            elif block.form is BlockForm.CODE:
                if told != number:
                    yield from self._commands(block, find_commands(block.lines, block.language))
            elif block.form is BlockForm.TABLE:
                for row, text in tables.read_rows(block.lines):
                    yield from self._say(TextRun(row, row, text), block)
            else:
                yield from self._text(block, following)
                if self._only_command(following) and is_introduction(block.lines[-1]):
                    told = number + 1

    def _text(self, block: Block, following: Block | None) -> Iterator[_Said]:
        """Yield what a paragraph or a list item says."""
        self._around.leave(block.depth)
        parts = list(split_runs(block.lines, broken=block.form is BlockForm.TEXT))
        for number, part in enumerate(parts):
            inner = following if number + 1 == len(parts) else None
            if is_label(part.text) and (inner is not None or number + 1 < len(parts)):
                # Take a text that only names what follows.
                if block.depth:
                    self._around.enter_lead(block.depth, part.text)
                else:
                    self._around.enter_label(part.text)
            elif inner is not None and is_introduction(part.text) and _belongs(inner, block):
                yield from self._introduction(part, block, inner)
            else:
                yield from self._say(part, block)
                if block.form is BlockForm.ITEM:
                    self._around.enter_lead(block.depth, part.text)

    def _introduction(self, part: TextRun, block: Block, inner: Block) -> Iterator[_Said]:
        """Yield what is in front of the sentence that leads in; that one, too, before code.

        The one command of a fence completes it; before other code it is said where it is a rule.
        """
        only = self._only_command(inner)
        *before, final = _pieces(part.text)
        lead = final
        if before and (_LEANS.match(final) or (only and len(before[-1].split()) <= _WORDS)):
            lead = f"{before[-1]} {final}"
            if only is not None:
                final = lead
                del before[-1]
        yield from self._say(part._replace(text=" ".join(before)), block, tail=final)
        *_, span = spread(block.lines[part.first : part.last + 1], [*before, final])
        run = TextRun(part.first + span[0], part.first + span[1], final)
        if only is not None:
            run = run._replace(text=f"{final} `{only.bare}`")
            last = inner.first + _offset(inner) + only.last
            yield from (each._replace(last=last) for each in self._say(run, block))
        elif inner.form is BlockForm.CODE and _is_rule(final):
            yield from self._say(run, block)
        self._around.enter_lead(block.depth, lead)

    def _only_command(self, block: Block | None) -> Command | None:
        """Return the command that a block is, if it is one and nothing else."""
        if block is None or block.form is not BlockForm.CODE:
            return None
        found = find_commands(block.lines, block.language)
        return found[0] if len(found) == 1 else None

    def _commands(self, block: Block, found: Sequence[Command]) -> Iterator[_Said]:
        """Yield the commands of a fence, each with the comment above it."""
        offset = block.first + _offset(block)
        above = [each.above for each in found]
        for each in found:
            alone = bool(each.above) and above.count(each.above) == 1
            text = self._around.add_prohibition(
                f"{each.text} # {each.above}" if alone else each.text
            )
            shared = [each.above] if each.above and not alone else []
            under = (*self._around.path, *shared)
            if len(text) <= MOST:
                first = each.above_first if alone else each.first
                span = first + offset, each.last + offset
                lead_in = self._around.lead_in
                yield _Said(*span, text, StatementKind.COMMAND, under, block, lead_in)

    def _say(self, run: TextRun, block: Block, *, tail: str = "") -> Iterator[_Said]:
        """Yield the statements of a text; `tail` is what is behind it on its lines."""
        if not run.text:
            return
        listed = block.form is not BlockForm.TEXT or block.depth > 0
        pieces = split_sentences(run.text, whole=_WHOLE[block.form] if listed else PARAGRAPH)
        path, label = self._around.path, ""
        lines = block.lines[run.first : run.last + 1]
        spans = spread(lines, (*pieces, tail))
        for number, (piece, span) in enumerate(zip(pieces, spans, strict=False)):
            text = self._worded(piece) if block.form is not BlockForm.TEXT and not number else piece
            under = (*path, label) if label else path
            label = label or find_label(piece)
            kind = find_kind(text, under)
            if len(text) <= MOST and (kind is StatementKind.COMMAND or not is_noise(text)):
                first, last = (block.first + run.first + line for line in span)
                yield _Said(first, last, text, kind, under, block, self._around.lead_in)

    def _worded(self, text: str) -> str:
        """Return a list's entry with the words above it that it cannot do without."""
        worded = self._around.add_prohibition(text)
        if worded != text or find_kind(text) is not StatementKind.FACT:
            return worded
        return self._around.add_order(text)


def _is_rule(text: str) -> bool:
    """Whether a sentence that code completes is a rule by itself."""
    return len(text.split()) >= _SAYS and find_kind(text) is StatementKind.RULE


def _offset(code: Block) -> int:
    """Return how many lines of a block of code are before its first: the fence, if it has one."""
    return int(code.last - code.first >= len(code.lines))


def _belongs(inner: Block | None, block: Block) -> bool:
    """Whether a block is what the text of another introduces."""
    if inner is None or inner.form in {BlockForm.HEADING, BlockForm.TEXT}:
        return False
    return inner.form is not BlockForm.ITEM or inner.depth > block.depth
