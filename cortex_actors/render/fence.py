"""The fence around the section that is ours, and everything that is done to a file's bytes.

Two comments enclose it, each on a line of its own, the first with the hash of what was written
between them:

    <!-- cortex:begin v1 sha256=... -->
    <!-- cortex:end -->

All text outside is a human's and comes through byte for byte: byte order mark, line ends,
bytes that are no UTF-8. Which lines are ours is asked of the parser that reads the files, so that
what is written is what is not read back; a mark in a code block is text like any other.

A new section goes to the end, behind one blank line. A file without a final line end has
none behind the section either: by that the section can be taken out again without a trace.

Each function raises a refusal (`refusals.py`) that names `path` rather than guess.

What a human did inside our section, and what a file had there before: neither is thrown away.
"""

from __future__ import annotations

import codecs
import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex_actors import errors
from cortex_actors.text import markdown
from cortex_actors.text.markdown import MAX_BYTES, Line, LineKind, classify_lines, split_lines
from cortex_actors.text.sections import Role, split_sections

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence


#: The form of the section that this version writes.
VERSION = 1

#: What a file is called in an error whose caller gave no path.
NAMELESS = "the file"

_BEGIN = "<!-- cortex:begin v{version} sha256={digest} -->"
_END = "<!-- cortex:end -->"

#: A mark of ours and what it says; all that follows it is a human's.
_MARK = re.compile(rb"<!--\s*cortex:(?:begin|end)\b([^<>]{0,200}?)-->")
_VERSION = re.compile(rb"\bv(\d{1,9})\b")
_DIGEST = re.compile(rb"\bsha256=([0-9a-f]{64})\b")

_LINE_ENDS = re.compile(rb"\r\n?|\n")

#: Kinds of lines in which a mark of ours is one.
_MARKED = frozenset({LineKind.TEXT, LineKind.OURS, LineKind.MANAGED})


@dataclass(frozen=True, slots=True)
class Fence:
    """The place of the section in a file, and what it says.

    Attributes:
        start: offset of the begin mark's first byte.
        end: offset behind the end mark's line end.
        body: the text between the marks, with LF at its line ends.
        declared: the hash in the begin mark; empty when there is none.
        eol: the line end of the begin mark.
        strays: text behind a mark on its line; no program has written that.

    """

    start: int
    end: int
    body: bytes
    declared: str
    eol: bytes
    strays: tuple[bytes, ...] = ()

    @property
    def intact(self) -> bool:
        """Whether the section is as it was written."""
        return not self.strays and self.declared == hash_body(self.body)


def hash_body(body: bytes) -> str:
    """Return the hash of a section's text, whatever its line ends are."""
    return hashlib.sha256(normalise_eol(body)).hexdigest()


def find(data: bytes, *, path: str = NAMELESS) -> Fence | None:
    """Return the section that is ours; None when there is none.

    Raises `TwoSections`, `BrokenSection`, `NewerSection` or `Unreadable`.
    """
    if b"cortex:begin" not in data and b"cortex:end" not in data:
        return None
    found = _read(data, path)
    what = classify_lines(found)
    at = [number for number, line in enumerate(found) if _is_mark(line) and what[number] in _MARKED]
    if not at:
        return None
    begins = [markdown.begins_ours(found[number].text) for number in at]
    if begins == [True, False] and what[at[0]] is LineKind.OURS:
        return _fence(data, found, begin=at[0], end=at[1], path=path)
    if len(at) > 1 and begins == [True, False] * (len(at) // 2):
        if len(at) == 2:  # noqa: PLR2004 - one pair, but another tool's marks enclose it
            raise errors.BrokenSection.from_file(path, line=at[0] + 1)
        raise errors.TwoSections.from_file(path, count=len(at) // 2)
    # The first mark that has no counterpart.
    pairs = range(0, len(begins), 2)
    lonely = next(number for number in pairs if begins[number : number + 2] != [True, False])
    raise errors.BrokenSection.from_file(path, line=at[lonely] + 1)


def splice(
    data: bytes, body: bytes, *, adopt: bool = False, discard: bool = False, path: str = NAMELESS
) -> bytes:
    """Return a file with a section of this text (lines end in LF) in place of the one it has.

    Raises as `find`; also `EditedSection` unless what was edited may be discarded,
    `UnfencedSection` unless that may be adopted, `OpenBlock` and `Oversized`.
    """
    body = body if body.endswith(b"\n") or not body else body + b"\n"
    standing = find(data, path=path)
    if standing is not None:
        if not (standing.intact or discard):
            raise errors.EditedSection.from_file(path)
        section = make_section(body, standing.eol, data[standing.start : standing.end])
        written = data[: standing.start] + section + data[standing.end :]
        return _checked(written, body, base=data, path=path)
    unmarked = find_unfenced(data, path=path)
    if unmarked is not None:
        if not adopt:
            raise errors.UnfencedSection.from_file(path, line=unmarked[2])
        # What follows it is a human's section that had its own distance from ours.
        eol = find_eol(data)
        before, after = data[: unmarked[0]], data[unmarked[1] :]
        section = make_section(body, eol, data[unmarked[0] : unmarked[1]] if not after else b"\n")
        written = before + section + (eol if after else b"") + after
        return _checked(written, body, base=data, path=path)
    written = append_section(data, make_section(body, find_eol(data), data or b"\n"))
    return _checked(written, body, base=data, path=path)


def remove(data: bytes, *, path: str = NAMELESS) -> bytes:
    """Return a file without our section: exactly what it was before, if no one edited it."""
    fence = find(data, path=path)
    if fence is None:
        return data
    return data[: find_joint(data, fence)] + data[fence.end :]


def hash_human_part(data: bytes) -> str:
    """Return the hash of the human's part: no write of ours changes it. Never raises.

    Of a file without a section of ours, or whose marks are broken, that is the hash of all of it.
    """
    try:
        part = remove(data)
    except (errors.BadInput, errors.NotWritten):
        part = data
    return hashlib.sha256(part).hexdigest()


def find_unfenced(data: bytes, *, path: str = NAMELESS) -> tuple[int, int, int] | None:
    """Return the place of a resolved section without marks: offsets, and its line from 1."""
    if b"Resolved Knowledge" not in data:
        return None
    _read(data, path)
    for section in split_sections(data, path=path):
        if section.role is Role.RESOLVED and section.heading is not None:
            return section.byte_start, section.byte_end, section.line_start
    return None


def has_section(data: bytes, *, path: str = NAMELESS) -> bool:
    """Tell whether a file has a section of ours, with its marks or without; raises as `find`."""
    return find(data, path=path) is not None or find_unfenced(data, path=path) is not None


def find_eol(data: bytes) -> bytes:
    """Return the line end that a file uses most; LF where it has none."""
    found = _LINE_ENDS.findall(data)
    return max((b"\n", b"\r\n", b"\r"), key=found.count)


def _read(data: bytes, path: str) -> list[Line]:
    """Return a file's lines, or refuse."""
    try:
        return split_lines(data, path=path)
    except errors.FileTooLarge:
        raise errors.Oversized.from_file(path, size=len(data), limit=MAX_BYTES) from None
    except errors.NotText:
        raise errors.Unreadable.from_file(path) from None


def _is_mark(line: Line) -> bool:
    """Whether a line begins with a mark of ours."""
    return markdown.begins_ours(line.text) or markdown.ends_ours(line.text)


def _fence(data: bytes, found: Sequence[Line], *, begin: int, end: int, path: str) -> Fence:
    """Return the fence from one mark's line to the other's."""
    start = found[begin].start
    if data[start:].startswith(codecs.BOM_UTF8):
        start += len(codecs.BOM_UTF8)
    first, last = data[start : found[begin].end], data[found[end].start : found[end].end]
    opening, closing = _MARK.match(first), _MARK.match(last)
    if opening is None or closing is None:
        raise errors.BrokenSection.from_file(path, line=(begin if opening is None else end) + 1)
    version, declared = _VERSION.search(opening[1]), _DIGEST.search(opening[1])
    if version is not None and int(version[1]) != VERSION:
        raise errors.NewerSection.from_file(path, version=int(version[1]))
    behind = (first[opening.end() :].strip(), last[closing.end() :].strip())
    return Fence(
        start=start,
        end=found[end].end,
        body=normalise_eol(data[found[begin].end : found[end].start]),
        declared=declared[1].decode() if declared is not None else "",
        eol=first[len(first.rstrip(b"\r\n")) :],
        strays=tuple(each for each in behind if each),
    )


def make_section(body: bytes, eol: bytes, instead_of: bytes) -> bytes:
    """Return a section with its marks; it has a final line end if what it replaces had one."""
    begin = _BEGIN.format(version=VERSION, digest=hash_body(body)).encode()
    text = b"\n".join((begin, body + _END.encode()))
    return text.replace(b"\n", eol) + (eol if has_final_eol(instead_of) else b"")


def append_section(data: bytes, section: bytes) -> bytes:
    """Return a file with a section behind a blank line at its end."""
    return data + make_gap(data, find_eol(data)) + section


def make_gap(data: bytes, eol: bytes) -> bytes:
    """Return what makes a blank line behind some text: one line end, or two if it has none."""
    if data in {b"", codecs.BOM_UTF8}:
        return b""
    return eol if has_final_eol(data) else eol * 2


def find_joint(data: bytes, fence: Fence) -> int:
    """Return where the blank line begins that was put between the text and our section."""
    at, eol = fence.start, fence.eol
    if fence.end == len(data) and not has_final_eol(data):
        # The text had no final line end: neither of the two before us is its own.
        for _ in range(2):
            at -= len(eol) * data[:at].endswith(eol)
        return at
    above = data[: at - len(eol)]
    is_blank = data[:at].endswith(eol) and (has_final_eol(above) or above in {b"", codecs.BOM_UTF8})
    return at - len(eol) if is_blank else at


def has_final_eol(data: bytes) -> bool:
    """Whether some text ends with a line end."""
    return data.endswith((b"\n", b"\r"))


def normalise_eol(data: bytes) -> bytes:
    """Return text with LF at its line ends."""
    return _LINE_ENDS.sub(b"\n", data)


def _checked(data: bytes, body: bytes, *, base: bytes, path: str) -> bytes:
    """Return a file if our section is found in it again, alone and as it was written."""
    if any(_is_mark(line) for line in _read(body, path)):
        raise errors.InternalError(f"cannot write {path}: its section holds a mark of ours")
    if len(data) > MAX_BYTES:
        raise errors.Oversized.from_file(path, size=len(data), limit=MAX_BYTES)
    try:
        fence = find(data, path=path)
    except errors.BrokenSection:  # a comment that our begin mark has closed
        fence = None
    if fence is None:
        # The last line, from 1, that is neither code nor in a comment opens one.
        what = enumerate(classify_lines(_read(base, path)), start=1)
        line = max((n for n, kind in what if kind is not LineKind.OPAQUE), default=1)
        raise errors.OpenBlock.from_file(path, line=line)
    if not fence.intact or fence.body != body:
        raise errors.InternalError(f"cannot write {path}: its section was not found again as it is")
    return data


def move_edits_out(data: bytes, written: bytes, *, path: str = NAMELESS) -> bytes:
    """Return a file whose edits inside our section are moved above it, as the human's text.

    Edits are the lines that are not in `written`, the section as it was written, with the empty
    ones between them; of one that is not known (empty) that is every line. The section itself is
    as it was written again. Lines of ours that were deleted or moved are not remembered. Raises
    `OpenBlock` where an edit opens a block that would swallow the section below it.
    """
    fence = find(data, path=path)
    if fence is None:
        return data
    ours = {line.strip() for line in normalise_eol(written).split(b"\n")}
    edits = [*fence.strays, *fence.body.split(b"\n")]
    theirs = _theirs(edits, ours)
    at, eol = find_joint(data, fence), fence.eol
    section = make_section(normalise_eol(written), eol, data[fence.start : fence.end])
    if not theirs:
        return data[: fence.start] + section + data[fence.end :]
    text = make_gap(data[:at], eol) + eol.join(theirs)
    if data[at : fence.start] != eol * 2:
        text += eol if data[at : fence.start] else eol * 2
    moved = data[:at] + text + data[at : fence.start] + section + data[fence.end :]
    if not _is_marked(moved):
        raise errors.OpenBlock.from_file(
            path, line=len(normalise_eol(data[: fence.start]).split(b"\n"))
        )
    return moved


def _is_marked(data: bytes) -> bool:
    """Tell whether a file has a section that is found."""
    try:
        return find(data) is not None
    except errors.BrokenSection:
        return False


def _theirs(lines: Iterable[bytes], ours: Container[bytes]) -> list[bytes]:
    """Return the lines that are not ours, and the empty ones between two of them."""
    found: list[bytes] = []
    gap: list[bytes] = []
    inside = False
    for line in lines:
        if not line.strip():
            gap.append(line)
            continue
        is_ours = line.strip() in ours
        if not is_ours:
            found += [*(gap if inside else ()), line]
        inside, gap = not is_ours, []
    return found


def restore(data: bytes, before: bytes, *, path: str = NAMELESS) -> bytes:
    """Return a file with the section that an older one had, or without one if that had none."""
    old, fence = find(before, path=path), find(data, path=path)
    if old is None:
        return remove(data, path=path)
    section = before[old.start : old.end]
    if fence is None:
        return append_section(
            data, section.rstrip(b"\r\n") + (find_eol(data) if has_final_eol(data) else b"")
        )
    rest = fence.eol if has_final_eol(data[fence.start : fence.end]) else b""
    return data[: fence.start] + section.rstrip(b"\r\n") + rest + data[fence.end :]
