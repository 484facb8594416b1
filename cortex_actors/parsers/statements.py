"""A section to the statements it makes: list items, paragraphs, table rows and commands.

A statement is what somebody elsewhere would repeat, or contradict. Each keeps what it stands under:
headings, a label in bold type, the sentence that introduces the list, the item it is nested in. One
that stands under `Never:` or `Don'ts` says the opposite without those words, so it gets them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cortex_actors.domain.project import Statement, StatementKind
from cortex_actors.parsers import tables
from cortex_actors.parsers.commands import Command, commands
from cortex_actors.parsers.headings import Heading, Trail, heading
from cortex_actors.parsers.intent import kind_of
from cortex_actors.parsers.lines import lines
from cortex_actors.parsers.noise import is_noise
from cortex_actors.parsers.outline import Block, Form, outline
from cortex_actors.parsers.paragraphs import Run, runs, spread
from cortex_actors.parsers.sentences import ITEM, PARAGRAPH, sentences
from cortex_actors.parsers.surroundings import Surroundings, introduces, is_label, label_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cortex_actors.domain.project import Fragment

#: Characters of a statement; what is longer and has no sentences is data.
MOST = 2_000

#: Words of a sentence that says something although code completes it.
_SAYS = 5


#: Bytes up to which a text is not cut into its sentences; the row of a table never is.
_WHOLE = {Form.TEXT: ITEM, Form.ITEM: ITEM, Form.TABLE: 4 * MOST}


class _Said(NamedTuple):
    """A statement with the numbers of its lines in the section, from 0."""

    first: int
    last: int
    text: str
    kind: StatementKind
    headings: tuple[str, ...]


def statements(fragment: Fragment) -> tuple[Statement, ...]:
    """Return what a fragment says, in its order; pure, and linear in its bytes.

    The ranges are those of the file, in whole lines: two sentences of one line share it. Code that
    is no command, names, links, trees of folders and figures make no statement.
    """
    text = lines(fragment.raw, path=fragment.source_path)
    reader = _Reader(_surroundings(fragment, text[0].text))
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
        )
        for ordinal, each in enumerate(found)
    )


def _surroundings(fragment: Fragment, first: str) -> Surroundings:
    """Return what a fragment's first line stands under; its heading may be that line."""
    own = heading(first)
    if own is not None and own.text == fragment.heading:
        return Surroundings(Trail(fragment.above, level=own.level - 1))
    trail = Trail(fragment.above, level=1)
    if fragment.heading:
        trail.enter(Heading(2, fragment.heading))
    return Surroundings(trail)


class _Reader:
    """Where a reader stands in a section, block by block."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around

    def read(self, blocks: Sequence[Block]) -> Iterator[_Said]:
        """Yield what the blocks say."""
        told = -1
        for number, block in enumerate(blocks):
            following = blocks[number + 1] if number + 1 < len(blocks) else None
            if block.form is Form.HEADING:
                self._around.head(Heading(block.level, block.lines[0]))
            elif block.form is Form.CODE:
                if told != number:
                    yield from self._commands(block, commands(block.lines, block.language))
            elif block.form is Form.TABLE:
                for row, text in tables.rows(block.lines):
                    yield from self._say(Run(row, row, text), block)
            else:
                yield from self._text(block, following)
                if self._only_command(following) and introduces(block.lines[-1]):
                    told = number + 1

    def _text(self, block: Block, following: Block | None) -> Iterator[_Said]:
        """Yield what a paragraph or a list item says."""
        self._around.leave(block.depth)
        parts = list(runs(block.lines, broken=block.form is Form.TEXT))
        for number, part in enumerate(parts):
            inner = following if number + 1 == len(parts) else None
            if is_label(part.text) and (inner is not None or number + 1 < len(parts)):
                self._name(block.depth, part.text)
            elif introduces(part.text) and _belongs(inner, block):
                self._around.lead(block.depth, part.text)
                if inner is not None and inner.form is Form.CODE:
                    yield from self._introduced(part, block, inner)
            else:
                yield from self._say(part, block)
                if block.form is Form.ITEM:
                    self._around.lead(block.depth, part.text)

    def _name(self, depth: int, text: str) -> None:
        """Take a text that only names what follows."""
        if depth:
            self._around.lead(depth, text)
        else:
            self._around.label(text)

    def _introduced(self, part: Run, block: Block, code: Block) -> Iterator[_Said]:
        """Yield what a sentence says that code completes: with the command, if it is one."""
        only = self._only_command(code)
        self._around.leave(block.depth)
        if only is not None:
            *before, final = sentences(part.text, whole=0)
            yield from self._say(part._replace(text=" ".join(before)), block)
            whole = part._replace(text=f"{final} `{only.bare}`")
            last = code.first + _offset(code) + only.last
            yield from (each._replace(last=last) for each in self._say(whole, block))
        elif kind_of(part.text) is StatementKind.RULE and len(part.text.split()) >= _SAYS:
            yield from self._say(part, block)
        self._around.lead(block.depth, part.text)

    def _only_command(self, block: Block | None) -> Command | None:
        """Return the command that a block is, if it is one and nothing else."""
        if block is None or block.form is not Form.CODE:
            return None
        found = commands(block.lines, block.language)
        return found[0] if len(found) == 1 else None

    def _commands(self, block: Block, found: Sequence[Command]) -> Iterator[_Said]:
        """Yield the commands of a fence, each with the comment above it."""
        offset = block.first + _offset(block)
        above = [each.above for each in found]
        for each in found:
            alone = bool(each.above) and above.count(each.above) == 1
            text = self._around.worded(f"{each.text} # {each.above}" if alone else each.text)
            shared = [each.above] if each.above and not alone else []
            under = (*self._around.path, *shared)
            if len(text) <= MOST:
                first = each.above_first if alone else each.first
                yield _Said(first + offset, each.last + offset, text, StatementKind.COMMAND, under)

    def _say(self, run: Run, block: Block) -> Iterator[_Said]:
        """Yield the statements of a text, unless it is none."""
        if not run.text:
            return
        listed = block.form is not Form.TEXT or block.depth > 0
        pieces = sentences(run.text, whole=_WHOLE[block.form] if listed else PARAGRAPH)
        path, label = self._around.path, ""
        lines = block.lines[run.first : run.last + 1]
        for number, (piece, span) in enumerate(zip(pieces, spread(lines, pieces), strict=True)):
            text = self._worded(piece) if block.form is not Form.TEXT and not number else piece
            under = (*path, label) if label else path
            label = label or label_of(piece)
            kind = kind_of(text, under)
            if len(text) <= MOST and (kind is StatementKind.COMMAND or not is_noise(text)):
                first, last = (block.first + run.first + line for line in span)
                yield _Said(first, last, text, kind, under)

    def _worded(self, text: str) -> str:
        """Return a list's entry with the words above it that it cannot do without."""
        worded = self._around.worded(text)
        if worded != text or kind_of(text) is not StatementKind.FACT:
            return worded
        return self._around.completed(text)


def _offset(code: Block) -> int:
    """Return how many lines of a block of code stand before its first: the fence, if it has one."""
    return int(code.last - code.first >= len(code.lines))


def _belongs(inner: Block | None, block: Block) -> bool:
    """Whether a block is what the text of another introduces."""
    if inner is None or inner.form is Form.HEADING:
        return False
    return inner.form is not Form.TEXT and (
        inner.form is not Form.ITEM or inner.depth > block.depth
    )
