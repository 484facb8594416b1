"""`parse`: what a file says, as the daemon would read it; no daemon, no home, nothing is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cortex_actors.cli import show
from cortex_actors.cli.declare import Argument, command, read_file
from cortex_actors.domain.project import file_hash
from cortex_actors.text import sections as markdown
from cortex_actors.text.markdown import MAX_BYTES, require_utf8
from cortex_actors.text.sections import Section, dialect_of, sections
from cortex_actors.text.statements import statements

if TYPE_CHECKING:
    from cortex_actors.domain.project import Fragment


#: Parts of a path that may say which dialect a file is of: `.github/instructions/a/b/c.md`.
_PARTS = 6

#: Where something stands: lines from 1, bytes from 0 up to the one behind.
_PLACE = ("line_start", "line_end", "byte_start", "byte_end")

#: Hex digits of a fragment's id that a person is shown.
_DIGITS = 12

#: What a section without a heading is called.
_NAMES = {
    "text": "(no heading)",
    "front_matter": "(front matter)",
    "resolved": "(written by cortex)",
    "managed": "(written by another tool)",
}


def show_parsed(found: dict[str, Any], given: dict[str, Any]) -> None:
    """Print what a file says."""
    show.lines(*_lines(found, str(given["file"])))


@command("debug parse", "CLAUDE.md", ".cursor/rules/style.mdc --json", show=show_parsed)
def parse(file: Annotated[Path, Argument(help="The instruction file.")]) -> dict[str, Any]:
    """Show what a file says: its sections and their statements, with lines and bytes."""
    data, path = read_file(file, f"read {file}", most=MAX_BYTES), str(file.absolute())
    require_utf8(data, path=path)
    # The dialect that the path tells, wherever the project's root may be; else it is Markdown.
    last = file.absolute().parts[-_PARTS:]
    names = ("/".join(last[number:]) for number in reversed(range(len(last))))
    dialect = next(filter(None, map(dialect_of, names)), None)
    reader = dialect.parse if dialect is not None else markdown.fragments
    said = {each.byte_start: each for each in reader(data, path=path, project="")}
    return {
        "path": path,
        "dialect": dialect.agent if dialect is not None else None,
        "bytes": len(data),
        "file_hash": file_hash(data),
        "sections": [
            _section(part, said.get(part.byte_start)) for part in sections(data, path=path)
        ],
    }


def _section(part: Section, fragment: Fragment | None) -> dict[str, Any]:
    """Return a section, and what is said in it if it is a fragment."""
    return {
        "role": part.role.value,
        "heading": part.heading,
        "above": list(part.above),
        **{name: getattr(part, name) for name in _PLACE},
        "fragment_id": fragment and fragment.id,
        "applies_to": list(fragment.applies_to) if fragment else [],
        "imports": list(fragment.imports) if fragment else [],
        "statements": [asdict(each) for each in statements(fragment)] if fragment else [],
    }


def _lines(found: Mapping[str, Any], file: str) -> Iterator[str]:
    """Yield what a person is shown."""
    parts = found["sections"]
    fragments = sum(part["fragment_id"] is not None for part in parts)
    said = sum(len(part["statements"]) for part in parts)
    yield f"{file}: {found['bytes']} bytes, fragments: {fragments}, statements: {said}"
    if found["dialect"] is None:
        yield "its name is not that of an instruction file: read as Markdown, by you alone"
    for part in parts:
        yield from _section_lines(part)


def _section_lines(part: Mapping[str, Any]) -> Iterator[str]:
    """Yield a section and its statements."""
    fragment = part["fragment_id"]
    name = part["heading"] or _NAMES[part["role"]]
    known = f", fragment {fragment[:_DIGITS]}" if fragment else ""
    yield ""
    yield f"{_span(part)} {name} [bytes {part['byte_start']}-{part['byte_end']}{known}]"
    for label, values in (("applies to", part["applies_to"]), ("imports", part["imports"])):
        if values:
            yield f"{'':<10}{label}: {', '.join(values)}"
    for each in part["statements"]:
        yield f"  {_span(each)} {each['kind']:<8} {each['text']}"


def _span(place: Mapping[str, Any]) -> str:
    """Return the lines of something, as wide as they mostly are."""
    first, last = place["line_start"], place["line_end"]
    return f"{first if first == last else f'{first}-{last}':<8}"
