"""What a file says that nobody would repeat or contradict: names, links, pointers, metadata."""

from __future__ import annotations

import re

#: Words that a statement has at least: one names something and says nothing of it.
_WORDS = 2

#: Signs of a statement in letters that stand for words.
_SIGNS = 4

_SIGN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_WORD = re.compile(r"[^\W_][\w'\u2019+#.-]*")

#: Code, links and addresses; of a link the text stays.
_CODE = re.compile(r"`[^`]*`")
_LINK = re.compile(r"!?\[([^\[\]]{0,400})\]\([^()\s]{0,1000}\)|<?https?://[^\s<>)]{1,1000}>?")

#: A path, or a name of a file.
_PATH = re.compile(r"[~.]{0,2}/?(?:[\w.@*<>{}-]+/)*[\w.@*<>{}-]*(?:/|\.[A-Za-z]{1,10})")

#: A list entry that is a link and what is behind it.
_ENTRY = re.compile(
    r"\W{0,4}\[[^\[\]]{1,400}\]\([^()\s]{1,1000}\)[*_]{0,3}(?:\s*$|\s*[-\u2013\u2014:])"
)

#: A sentence that only says where to read on.
_POINTER = re.compile(
    r"[\s*_>(-]*(?:(?:please |always )?(?:see|refer to|check(?= (?:out )?[`\[])"
    r"|consult|read|cf\.)\b"
    r"|for (?:(?:more|full|detailed|further|additional) )?(?:details?|information|instructions"
    r"|documentation|docs|examples?)\b"
    r"|(?:full|more|further) (?:details|information|docs|documentation|rules|guide)\b"
    r"|(?:documentation|docs|details|reference|source|template|example|guide|templates|read)"
    r"[*_]{0,3}:[*_]{0,3}\s+(?=[`\[]|https?:|\S+\.md))",
    re.IGNORECASE,
)

#: Words that make a rule of a sentence about reading.
_WHEN = re.compile(r"\b(?:before|first|must|always|never|whenever|when|after)\b", re.IGNORECASE)

#: What a document says of itself.
_METADATA = re.compile(
    r"\W*(?:last[ -](?:updated|modified|reviewed)|updated|version|date|created|author|authors"
    r"|maintainers?|maintained by|owner|status|licen[cs]e|repository|repo|generated(?: by| on)?"
    r"|table of contents|contents|toc|applies to|audience|file|priority"
    r"|\u7ef4\u62a4\u8005|\u4f5c\u8005|\u6700\u540e\w{2}|\u66f4\u65b0\w{0,2}|\u7248\u672c|\u8bb8\u53ef\u8bc1|\u6700\u7d42\u66f4\u65b0)"
    r"[*_]{0,3}\s?[:\uff1a]",
    re.IGNORECASE,
)

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
    bare = _CODE.sub(" ", plain)
    if _said(bare) >= _WORDS or len(_SIGN.findall(bare)) >= _SIGNS:
        return False
    # A name and a figure say something, and so does a word with code: `No unwrap()`. Paths do not.
    if (_FIGURE.search(text) and _said(bare)) or _VALUE.fullmatch(text):
        return False
    return not _said(bare) or _said(plain) < _WORDS or not _CODE.search(plain)


def _asks(text: str) -> bool:
    """Whether a text is one question, which says nothing."""
    asks = _QUESTION.search(text, max(0, len(text) - 4)) is not None
    return asks and _END.search(text) is None


def _only_points(text: str) -> bool:
    """Whether a text names what to read in one sentence, and does not say when it must be read."""
    names = _CODE.search(text) or _LINK.search(text) or _has_path(text)
    return bool(names) and not _WHEN.search(text) and len(_END.findall(text)) == 0


def _has_path(text: str) -> bool:
    """Whether a word of a text is a path."""
    return any(_PATH.fullmatch(word.strip(".,;:()")) for word in text.split())


def _said(text: str) -> int:
    """Return how many words a text has, paths and figures left out; no more than are asked for."""
    found = 0
    for each in text.split():
        word = each.strip(".,;:()*_`\"'")
        if _WORD.match(word) is not None and _PATH.fullmatch(word) is None:
            found += 1
            if found == _WORDS:
                break
    return found
