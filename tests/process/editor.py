"""A human and his editor, in a process of their own: saves, and looks whether the save stands.

    python editor.py MODE COUNT SEED PATH

Standard library only. Says what came of it as one line of JSON.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

#: Seconds within which a save must be seen, and seen again.
PATIENCE = 5.0

#: Seconds at most between the steps of a slow save, and between two saves.
SLOW, PAUSE = 0.004, 0.03

_CREATE = os.O_WRONLY | os.O_CREAT


class Editor:
    """Saves a file in one way, over and over, each time with other words."""

    def __init__(self, path: str, mode: str, seed: int) -> None:
        """Look at the file as it is."""
        self.path = Path(path)
        self.beside = Path(f"{path}~")
        self.random = random.Random(f"{seed} {mode}")
        self.save: Callable[[int], bytes] = getattr(self, f"_{mode}")
        self.told = b""

    def read(self) -> bytes:
        """Return the file; nothing while it is not there."""
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return b""

    def stands(self, proof: bytes) -> bool:
        """Tell whether what was saved is there, soon."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if proof in self.read():
                return True
            time.sleep(0.0005)
        return False

    def _text(self, number: int) -> bytes:
        """Return what a human writes: bytes of all kinds, recognisable as whole."""
        filler = self.random.randbytes(self.random.randrange(200, 3_000)).replace(b"\0", b"")
        filler = filler.replace(b"`", b"'").replace(b"~", b"-").replace(b"<", b"(")
        eol = self.random.choice((b"\n", b"\r\n"))
        end = b"END %d" % number
        return b"\xef\xbb\xbf# notes" + eol + filler + eol + end + self.random.choice((b"", eol))

    def _put(self, path: Path, data: bytes, *, slow: float = 0.0, flags: int = os.O_TRUNC) -> None:
        """Write a file, in two halves if it is a slow editor."""
        opened = os.open(path, _CREATE | flags, 0o644)
        half = len(data) // 2 if slow else len(data)
        os.write(opened, data[:half])
        if slow:
            time.sleep(self.random.uniform(0, slow))
            os.write(opened, data[half:])
        os.close(opened)

    def _in_place(self, number: int) -> bytes:
        self._put(self.path, data := self._text(number))
        return data

    def _slow(self, number: int) -> bytes:
        self._put(self.path, data := self._text(number), slow=SLOW)
        return data

    def _rename(self, number: int) -> bytes:
        self._put(self.beside, data := self._text(number))
        self.beside.replace(self.path)
        return data

    def _backup(self, number: int) -> bytes:
        """As Vim does: the old file gets another name, and a new one is made."""
        self.path.rename(self.beside)
        self._put(self.path, data := self._text(number))
        self.beside.unlink()
        return data

    def _append(self, number: int) -> bytes:
        opened = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        time.sleep(self.random.choice((0, self.random.uniform(0, SLOW))))
        os.write(opened, line := b"- line %d\n" % number)
        os.close(opened)
        return line

    def _inside(self, number: int) -> bytes:
        """Edit a line between the marks; where there are none, one at the end."""
        line = b"- edited %d\n" % number
        parts = self.read().split(b"\n")
        inner = [each for each, text in enumerate(parts) if text.startswith(b"- Rule")]
        if inner:
            parts[self.random.choice(inner)] = line.strip()
        else:
            parts.insert(len(parts) - 1, line.strip())
        data = b"\n".join(parts)
        if self.random.random() < 0.5:
            self._put(self.path, data)
        else:
            self._put(self.beside, data)
            self.beside.replace(self.path)
        return line


def main(mode: str, count: int, seed: int, path: str) -> None:
    """Save so many times; say how many saves were lost, and the last words."""
    editor = Editor(path, mode, seed)
    lost, proof = [], b""
    for number in range(1, count + 1):
        proof = editor.save(number)
        if not editor.stands(proof):
            lost.append(number)
        time.sleep(editor.random.uniform(0, PAUSE))
        if not editor.stands(proof):
            lost.append(number)
    said = {"saves": count, "lost": lost, "last": proof.hex()}
    print(json.dumps(said))  # noqa: T201 - that is how it says so


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
