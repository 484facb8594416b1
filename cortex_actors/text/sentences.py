"""A long text as sentences that can stand alone.

A text that people keep in one list item is mostly one thing, so it is left whole unless it is
long. A paragraph is more often several rules in a row, of which somebody else repeats one.

What a file says that nobody would repeat or contradict: names, links, pointers, metadata.

What to type: which text is a command line, and which lines of a fence are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from cortex_actors.text.lexicon import patterns, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TABLE, _PATTERNS = table("statements"), patterns("statements")

#: Words that a statement has at least: one names something and says nothing of it.
_WORDS = 2

#: Signs of a statement in letters that stand for words.
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
    asks = _QUESTION.search(text, max(0, len(text) - 4)) is not None
    return asks and _END.search(text) is None


def _only_points(text: str) -> bool:
    """Whether a text names what to read in one sentence, and does not say when it must be read."""
    names = _ANY_CODE.search(text) or _LINK.search(text) or _has_path(text)
    return bool(names) and not _WHEN.search(text) and len(_END.findall(text)) == 0


def _has_path(text: str) -> bool:
    """Whether a word of a text is a path."""
    return any(_PATH.fullmatch(word.strip(".,;:()")) for word in text.split())


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

#: What may be a sentence's end, and what hides one: code, and what stands in brackets.
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


def sentences(text: str, *, whole: int = ITEM) -> tuple[str, ...]:
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


#: What stands behind a fence of commands; a fence without a language may be one, too.
_SHELLS = frozenset(
    {"", "bash", "sh", "shell", "zsh", "fish", "console", "terminal", "shell-session", "powershell"}
    | {"ps1", "pwsh", "cmd", "bat", "batch"}
)

#: Commands of one fence that are kept; one of more is a script.
_MOST = 40

#: Programs that instruction files tell agents to run.
_PROGRAMS = frozenset(_TABLE["words"]["programs"].split())

#: Programs by which nobody is told anything unless another follows.
_TRIVIAL = frozenset(
    {"cd", "ls", "export", "source", "mkdir", "cat", "echo", "cp", "mv", "rm", "grep"}
)

_PROMPT = re.compile(r"\A(?:[$%#>]|PS>|C:\\>)[ \t]+")
_SETTING = re.compile(r"\A(?:[A-Z_][A-Z0-9_]*=\S*[ \t]+)+")
_SCRIPT = re.compile(r"(?:if|for|while|case|function|until)\b.*|.*<<|[\w-]+\(\)")
_COMMAND_PATH = re.compile(r"\.{0,2}/?(?:[\w.-]+/)+[\w.-]+|\./[\w.-]+")
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


def commands(lines: Sequence[str], language: str) -> tuple[Command, ...]:
    """Return the commands of a fence; none for a script, for output and for other languages."""
    if language.split(" ", maxsplit=1)[0].lower().strip("{}") not in _SHELLS:
        return ()
    found = list(_read(lines))
    known = [each for each in found if is_command(each.text)]
    if not language and len(known) * 2 < len(found):
        return ()
    if len(known) > _MOST or any(_SCRIPT.fullmatch(line) for line in lines):
        return ()
    return tuple(each for each in known if not _is_trivial(each.text))


def _read(lines: Sequence[str]) -> Iterator[Command]:
    """Yield every line that is no comment, those that go on joined, with what stands above."""
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
