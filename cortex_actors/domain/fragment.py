"""A fragment: one section of an instruction file, as a human wrote it.

Fragments are not stored. They live from the parser to the accumulator, which keeps what they say
as insights and where they stood as sources.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Fragment:
    """One section of an instruction file: what it says and exactly where it stands.

    The id is computed from the path and content held here, so the path that is hashed and the path
    that is stored can never differ. Two sections of one file that say the same have the same id.

    Attributes:
        content: the section without its heading line, trimmed, with LF at its line ends.
        source_path: the expanded, absolute path of the file.
        source_project: the name of the project the file belongs to.
        heading: the heading's text, "" for an empty heading, None before the first one.
        line_start: the first line, counted from 1; the heading line where there is one.
        line_end: the last line, inclusive; a final line end counts one more, empty line.
        byte_start: offset of the section's first byte in the file, heading included.
        byte_end: offset behind its last byte.
        file_hash: the revision of the file, lowercase hex: the SHA-256 of all of it from the
            parser; from the accumulator on, of what in it is a human's.
        above: the headings that the section stands under, outermost first; not its own.
        applies_to: globs of the files that it holds for, as the file's front matter says; none:
            all that the file holds for.
        imports: the files that it points to with `@path`, as written; nobody follows them.
        raw: its bytes, from `byte_start` to `byte_end`, of which statements are made.

    """

    content: str
    source_path: str
    source_project: str
    heading: str | None
    line_start: int
    line_end: int
    byte_start: int
    byte_end: int
    file_hash: str
    above: tuple[str, ...] = ()
    applies_to: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    raw: bytes = field(default=b"", compare=False, repr=False)
    id: str = field(init=False)

    def __post_init__(self) -> None:
        """Compute the id."""
        object.__setattr__(self, "id", fragment_id(self.source_path, self.content))

    @property
    def stance(self) -> str:
        """What tells it apart from one that says the same under other headings (64 hex digits).

        Its statements are not the same: what a heading forbids, they forbid. Without any heading it
        is the id.
        """
        headings = [*self.above, *([] if self.heading is None else [self.heading])]
        return fragment_id(self.source_path, "\n".join([*headings, self.content]))


def fragment_id(path: str, content: str) -> str:
    """Return SHA-256(path, content) as 64 lowercase hex digits.

    File names that are not UTF-8 are hashed as the bytes they are on disk.
    """
    digest = hashlib.sha256(path.encode("utf-8", "surrogateescape"))
    digest.update(content.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def file_hash(data: bytes) -> str:
    """Return the SHA-256 of a file's bytes as lowercase hex: equal means nothing to do."""
    return hashlib.sha256(data).hexdigest()
