"""JSON with comments, changed in place: one member or item at a time, every other byte as it was.

Programs keep their settings as JSON that people write by hand, with comments and commas behind the
last member. A text is read once into spans, and a change is a text put in or cut out at one of
them; nothing is printed again. What is put in has the indentation and line ends of its
surroundings, and what was put in can be taken out without a trace.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cortex_actors.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Where a value is: keys of objects and numbers of items, from the outermost.
Way = tuple[str | int, ...]

#: Levels that a text may have: deeper ones would end the interpreter's stack.
_DEPTH = 100

#: Blanks and comments, one after the other.
_GAP = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)

#: A string, and what else is no object and no list.
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_PLAIN = re.compile(r"[-+.\w]+")

#: Blanks before a member on a line of its own.
_INDENT = re.compile(r"\n([ \t]*)\Z")

#: What a level is indented by where nothing shows it.
_TWO = "  "


@dataclass(slots=True)
class _Part:
    """A value, with its place in the text."""

    start: int
    end: int
    value: Any
    #: Of an object or a list: key or number, where the entry begins (with its key), its value.
    entries: list[tuple[str | int, int, _Part]] = field(default_factory=list)
    #: The place of the comma behind each entry; -1 for none.
    commas: list[int] = field(default_factory=list)


def read(text: str, *, path: str = "the text") -> Any:  # noqa: ANN401 - whatever it holds
    """Return what a text says; an empty one is an empty object. Raises `BadInput` with the line."""
    try:
        return json.loads(text)  # a hundred times as fast, for what is plain JSON
    except (ValueError, RecursionError):
        return _parsed(text, path).value


def put(text: str, way: Way, *, value: object, path: str = "the text") -> str:
    """Return a text that has a value at its place, once; `way` ends in a key or a number.

    Objects on the way are made; a number that is the length of its list appends an item. Raises
    `BadInput` for a text that cannot be read, or has something else on the way.
    """
    top = _parsed(text, path)
    if top.start == top.end:
        lines = text if text.endswith("\n") or not text else f"{text}\n"
        return put(f"{lines}{{}}\n", way, value=value, path=path)
    at = top
    for number, key in enumerate(way):
        if not isinstance(at.value, list if isinstance(key, int) else dict):
            held = ".".join(map(str, way[:number])) or "the outermost value"
            kind = "list" if isinstance(key, int) else "object"
            raise BadInput(f"cannot change {path}: {held} is no {kind}; correct it, then try again")
        found = _entry(at, key)
        if found is None:
            for each in reversed(way[number + 1 :]):
                value = [value] if isinstance(each, int) else {each: value}
            return _inserted(text, at, key=key, value=value)
        at = at.entries[found][2]
    shown = _printed(value, _indentation(text, at.start), style=_style(text, top))
    return text[: at.start] + shown + text[at.end :]


def cut(text: str, way: Way) -> str:
    """Return a text without the value at a place, and without what holds nothing else then.

    A text that has no such value is returned as it is. Raises as `read`.
    """
    holders = [_parsed(text, "the text")]
    for key in way:
        found = _entry(holders[-1], key)
        if found is None:
            return text
        holders.append(holders[-1].entries[found][2])
    deepest = len(way) - 1
    while deepest and len(holders[deepest].entries) == 1:
        deepest -= 1
    return _removed(text, holders[deepest], key=way[deepest])


def _entry(part: _Part, key: str | int) -> int | None:
    """Return the number of an entry; of several with one key the last, which is what counts."""
    names = [each[0] for each in part.entries]
    return len(names) - 1 - names[::-1].index(key) if key in names else None


def _inserted(text: str, part: _Part, *, key: str | int, value: object) -> str:
    """Return a text with one more entry at the end of an object or a list."""
    eol, unit = _style(text, part)
    begins = [each[1] for each in part.entries]
    lead = f"{json.dumps(key, ensure_ascii=False)}: " if isinstance(key, str) else ""
    outer = _indentation(text, part.start)
    if not begins:
        inner = outer + unit
        inside = text[part.start + 1 : part.end - 1].rstrip()
        made = f"{inside}{eol}{inner}{lead}{_printed(value, inner, style=(eol, unit))}{eol}{outer}"
        return text[: part.start + 1] + made + text[part.end - 1 :]
    # Behind the comments that follow the last entry, which are about that one.
    close = len(text[: part.end - 1].rstrip())
    between = text[part.start : begins[-1]]
    own_line = _INDENT.search(between)
    is_apart = own_line is not None or "\n" in text[part.entries[-1][2].end : part.end]
    inner = own_line[1] if own_line else outer + unit
    gap = f"{eol}{inner}" if is_apart else " "
    shown = (
        _printed(value, inner, style=(eol, unit))
        if is_apart
        else json.dumps(value, ensure_ascii=False)
    )
    comma, last = part.commas[-1], part.entries[-1][2].end
    if comma >= 0:
        return f"{text[:close]}{gap}{lead}{shown},{text[close:]}"
    return f"{text[:last]},{text[last:close]}{gap}{lead}{shown}{text[close:]}"


def _removed(text: str, part: _Part, *, key: str | int) -> str:
    """Return a text without one entry of an object or a list, and without the blanks before it."""
    number = _entry(part, key) or 0
    _, begin, value = part.entries[number]
    comma, start = part.commas[number], len(text[:begin].rstrip())
    end = value.end if comma < 0 else comma + 1
    left = text[:start] + text[end:]
    if comma < 0 and number:
        before = part.commas[number - 1]
        left = left[:before] + left[before + 1 :]
    if len(part.entries) == 1 and not left[part.start + 1 : part.end - 1 - (end - start)].strip():
        return text[: part.start + 1] + text[part.end - 1 :]
    return left


def _style(text: str, part: _Part) -> tuple[str, str]:
    """Return the line end of a text, and what its levels are indented by."""
    depths = sorted({_indentation(text, each[1]) for each in part.entries} - {""}, key=len)
    known = depths[0] if depths else ""
    outer = _indentation(text, part.start)
    if not known.startswith(outer) or len(known) <= len(outer):
        lines = re.findall(r"\n([ \t]+)[\"\]}]", text)
        known, outer = (min(lines, key=len), "") if lines else (_TWO, "")
    return ("\r\n" if "\r\n" in text else "\n"), known[len(outer) :]


def _indentation(text: str, at: int) -> str:
    """Return the blanks at the start of the line that a place is in."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _printed(value: object, outer: str, *, style: tuple[str, str]) -> str:
    """Return a value as it is put in, its further lines indented as those around it."""
    eol, unit = style
    shown = json.dumps(value, indent=unit, ensure_ascii=False)
    return shown.replace("\n", f"{eol}{outer}")


def _parsed(text: str, path: str) -> _Part:
    """Return the outermost value; one without extent where there is none."""
    at = _skipped(text, 1 if text.startswith("\ufeff") else 0)
    if at == len(text):
        return _Part(at, at, {})
    try:
        part = _value(text, at, depth=0)
        _require_end(text, part.end)
    except _Unexpected as error:
        before = text[: error.at]
        line, column = before.count("\n") + 1, error.at - before.rfind("\n")
        there = repr(text[error.at : error.at + 1]) if error.at < len(text) else "its end"
        raise BadInput(
            f"{path} is no JSON: line {line}, column {column} has {there} in place of {error}; "
            "correct it first; nothing was written"
        ) from None
    return part


class _Unexpected(Exception):
    """Something else is in the place that is read; its text says what should be."""

    def __init__(self, at: int, wanted: str) -> None:
        super().__init__(wanted)
        self.at = at


def _require_end(text: str, at: int) -> None:
    """Raise `_Unexpected` where a text goes on behind its value."""
    rest = _skipped(text, at)
    if rest < len(text):
        raise _Unexpected(rest, "its end")


def _skipped(text: str, at: int) -> int:
    """Return where the next sign is that is neither blank nor comment."""
    found = _GAP.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int, *, depth: int) -> _Part:
    """Return the value that begins at a place."""
    sign = text[at : at + 1]
    if depth > _DEPTH:
        raise _Unexpected(at, f"at most {_DEPTH} levels")
    if sign and sign in "{[":
        return _holder(text, at, depth=depth)
    found = (_STRING if sign == '"' else _PLAIN).match(text, at)
    if found is not None:
        with suppress(ValueError):
            return _Part(at, found.end(), json.loads(found[0]))
    raise _Unexpected(at, "a value")


def _holder(text: str, start: int, *, depth: int) -> _Part:
    """Return the object or the list that begins at a place, with its entries."""
    is_list = text[start] == "["
    close = "]" if is_list else "}"
    part = _Part(start, start, [] if is_list else {})
    at = _skipped(text, start + 1)
    while text[at : at + 1] != close:
        if part.commas and part.commas[-1] < 0:
            raise _Unexpected(at, f"a comma or {close}")
        begin, key = at, len(part.entries)
        name: str | int = key
        if not is_list:
            found = _STRING.match(text, at)
            if found is None:
                raise _Unexpected(at, f"a key in quotes or {close}")
            name, at = json.loads(found[0], strict=False), _skipped(text, found.end())
            if text[at : at + 1] != ":":
                raise _Unexpected(at, "a colon")
            at = _skipped(text, at + 1)
        inner = _value(text, at, depth=depth + 1)
        part.entries.append((name, begin, inner))
        at = _skipped(text, inner.end)
        has_comma = text[at : at + 1] == ","
        part.commas.append(at if has_comma else -1)
        at = _skipped(text, at + 1) if has_comma else at
    part.end = at + 1
    values: Sequence[tuple[Any, Any]] = [(name, inner.value) for name, _, inner in part.entries]
    part.value = [value for _, value in values] if is_list else dict(values)
    return part
