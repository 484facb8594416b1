r"""Text that was learned somewhere becomes one line that can do nothing where it is written.

What we write into a file is read by programs that act on it: Markdown has blocks, HTML and links;
`@path` makes Claude Code and Gemini CLI read another file in; `!` before code runs it in some
files; a tag may pose as the end of what is the user's. None of that survives: a line of ours has
words, emphasis and code spans, and every span is of one backtick and closed on its line. What would
mean something else is put in a code span, where a reader still sees it as it was; only what begins
a block is taken away. Escaping by backslashes was rejected: those who read the raw text, agents
first, would read the escapes, and a backslash before one of ours would undo it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cortex_actors.text.hazards import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Characters of a line; what is longer ends with an ellipsis.
MOST = 300

_ELLIPSIS = "\u2026"

#: Whether a line is cut between words: a word that is longer than this is cut in itself.
_LONGEST_WORD = 60

#: What begins a block at the start of a line: headings, quotes, lists, tasks, fences, rules.
_LEAD = re.compile(
    r"(?:(?:#{1,6}|[-+*]|\d{1,9}[.)]|\[[ xX]\]|[-*_=]{2,})(?=\s|$)|>(?!=)|~{3,}|\s+)+", re.ASCII
)

#: A code span: as many backticks behind it as before it, and none beside these.
_SPAN = re.compile(r"(?<![`\\])(?P<ticks>`+)(?!`)(?P<code>.*?)(?<!`)(?P=ticks)(?!`)", re.DOTALL)

#: A link or an image, or a code span, in which there are none: what comes first counts.
_INLINE = re.compile(
    r"!?\[(?P<said>(?:[^\[\]<>`]|`[^\[\]<>`]*`){1,200})\]\((?P<where>[^()\s<>`]{1,500})\)|"
    + _SPAN.pattern,
    re.DOTALL,
)

#: What is no mere word where it stands: a tag, an address in angle brackets or a comment; `@path`,
#: but not the `@` of an e-mail address; `#file:path`, and what some readers take for a heading.
_ACTS = re.compile(r"<(?=[A-Za-z/!?|])|(?<![^\W_])@|(?<![^\W_])#(?=[^\s\d#])")

#: A version at the start of a line, where it would be a quotation.
_VERSION = re.compile(r">=[^\s`]*")

#: What may stand around a word and needs no code span.
_AROUND = "([{\"'*_", ")]}\"'*_,.;:!?"

#: What makes a link of brackets; an image or an embedded file of them.
_LINK = re.compile(r"\](?=[(\[:])|!(?=\[)")

#: An arrow that would end a comment.
_ARROW = re.compile(r"-{2,}!?>")

#: Our own mark before what contradicts the file, and one that chat templates have.
_MARK = re.compile(r"\[(\s*(?:conflict|/?inst)\s*)\]", re.IGNORECASE)

#: Inside code nothing is Markdown; programs that look for comments and tags do not know that. Of
#: tags it is those that agents' own programs put around what they hand to a model; `<user>` and the
#: like are left, because commands are explained with them, and only their ends are not.
_COMMENT = re.compile(r"<!(?=--)|--(?=!?>)")
_ROLE = re.compile(
    r"<(?=\||/?(?:[\w-]{1,20}:)?(?:system|assistant|instructions|cortex)"
    r"|/(?:[\w-]{1,20}:)?(?:user|human|developer|context|function|tool|prompt|param|document))",
    re.IGNORECASE,
)

_WORD = re.compile(r"\S+")


def neutral(text: str) -> str:
    """Return a text as one line of at most 300 characters that is data wherever it stands.

    Empty when it has no letter and no digit. What is hidden in it is written out. A second time
    changes nothing. Linear in the text.
    """
    words = " ".join(text.split())
    limit = MOST
    while True:
        line = _safe(_cut(words, limit))
        if len(line) <= MOST:
            return line if any(letter.isalnum() for letter in line) else ""
        limit = min(limit - 1, limit * MOST // len(line))


def _cut(words: str, limit: int) -> str:
    """Return the beginning of a text, at most so many characters with its ellipsis."""
    if len(words) <= limit:
        return words
    kept = words[: max(0, limit - len(_ELLIPSIS))]
    space = kept.rfind(" ")
    if space > len(kept) - _LONGEST_WORD:
        kept = kept[:space]
    return kept.rstrip() + _ELLIPSIS


def _safe(words: str) -> str:
    """Return words on one line without anything that acts."""
    written = ""
    for piece, is_code in _pieces(visible(_led(_INLINE.sub(_told, words)))):
        written += _code(piece, written[-1:]) if is_code else piece
    # Code without a letter in it is gone, and may have stood before what begins a block.
    return visible(" ".join(_led(written).split()))


def _led(text: str) -> str:
    """Return a text without what begins a block at its start."""
    lead = _LEAD.match(text)
    text = text[lead.end() :] if lead is not None else text
    return _VERSION.sub(lambda found: f"`{found[0]}`", text, count=1) if text[:1] == ">" else text


def _told(found: re.Match[str]) -> str:
    """Return what a link says and where it leads, as words."""
    said, where = found["said"], found["where"]
    if said is None:
        return found[0]
    return said if said.strip("`") == where else f"{said} ({where})"


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield what a line is made of, and whether each piece is code."""
    at = 0
    for span in _SPAN.finditer(text):
        yield from _plain(text[at : span.start()])
        yield span["code"], True
        at = span.end()
    yield from _plain(text[at:])


def _plain(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a text without code; words that act become code."""
    text = _ARROW.sub("->", text.replace("`", "'"))
    at = 0
    for word in _WORD.finditer(text):
        if _ACTS.search(word[0]):
            inner = word[0].lstrip(_AROUND[0])
            start = word.end() - len(inner)
            inner = inner.rstrip(_AROUND[1])
            yield _unlinked(text[at:start]), False
            yield inner, True
            at = start + len(inner)
    yield _unlinked(text[at:]), False


def _unlinked(text: str) -> str:
    """Return a text in which brackets are brackets."""
    return _LINK.sub(lambda found: f"{found[0]} ", _MARK.sub(r"(\1)", text))


def _code(text: str, before: str) -> str:
    """Return a code span, apart from a letter before it that would change what it is."""
    text = _ROLE.sub("< ", _COMMENT.sub(lambda found: f"{found[0]} ", text.replace("`", "'")))
    text = text.strip()
    if not text:
        # Not nothing: what stands on its two sides must not become one.
        return " "
    # Behind a backslash a backtick is a letter to some, and to others it closes the span.
    apart = " " if before in {"`", "\\", "!"} else ""
    return f"{apart}`{text} `" if text.endswith("\\") else f"{apart}`{text}`"
