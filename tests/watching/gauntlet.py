"""Every way in which editors, tools and accidents change an instruction file."""

from __future__ import annotations

import mmap
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

#: Where Linux says how many events an inotify instance keeps; read when one is made.
QUEUE = Path("/proc/sys/fs/inotify/max_queued_events")


class Gauntlet:
    """Changes the files of one project, and knows what each of them says in the end."""

    def __init__(self, root: Path, chance: random.Random, *, files: int = 12) -> None:
        self.root = root.resolve()
        self.chance = chance
        self.files = [self.root / f"f{n}" / "CLAUDE.md" for n in range(files)]
        #: What each file says now.
        self.final: dict[str, bytes] = {}
        self._edits = 0
        self._ways: tuple[Callable[[Path, bytes], None], ...] = (
            self._in_place,
            self._appended,
            self._renamed,
            self._kept_as_backup,
            self._deleted_first,
            self._mapped,
            self._of_one_look,
            self._through_link,
            self._folder_again,
            self._beside_odd_name,
            self._amid_noise,
            self._new_folders,
        )
        for path in self.files:
            self._in_place(path, self._text())

    def edit(self) -> str:
        """Change one file in some way; return which way it was."""
        way = self.chance.choice(self._ways)
        way(self.chance.choice(self.files), self._text())
        return way.__name__

    def each(self) -> None:
        """Change one file in each of the ways."""
        for way, path in zip(self._ways, self.files, strict=False):
            way(path, self._text())

    def noise(self, count: int = 300) -> None:
        """Fill the kernel's queue in a folder that is listened to."""
        folder = self.chance.choice(self.files).parent
        for n in range(count):
            path = folder / f"noise-{n % 10}"
            path.write_bytes(b"x")
            path.unlink()

    def _text(self) -> bytes:
        """Return a text that no file ever held, always of one length."""
        self._edits += 1
        return f"## Rule\n\nFeed quokka {self._edits:06} at dawn.\n".encode()

    def _put(self, path: Path, text: bytes) -> None:
        """Write a file and take down what it says."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
        self.final[str(path)] = text

    def _in_place(self, path: Path, text: bytes) -> None:
        self._put(path, text)

    def _appended(self, path: Path, text: bytes) -> None:
        whole = path.read_bytes() + text if path.exists() else text
        with path.open("ab") as opened:
            opened.write(text)
        self.final[str(path)] = whole

    def _renamed(self, path: Path, text: bytes) -> None:
        draft = path.with_name(".CLAUDE.md.tmp")
        draft.write_bytes(text)
        draft.replace(path)
        self.final[str(path)] = text

    def _kept_as_backup(self, path: Path, text: bytes) -> None:
        path.replace(path.with_name("CLAUDE.md~"))
        self._put(path, text)

    def _deleted_first(self, path: Path, text: bytes) -> None:
        path.unlink()
        self._put(path, text)

    def _mapped(self, path: Path, text: bytes) -> None:
        self._put(path, b"x" * len(text))
        with path.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as mapped:
            mapped[:] = text
            mapped.flush()
        self.final[str(path)] = text

    def _of_one_look(self, path: Path, text: bytes) -> None:
        self._put(path, self._text())
        times = path.stat()
        self._put(path, text)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def _through_link(self, path: Path, text: bytes) -> None:
        link, target = self.root / "linked" / "AGENTS.md", self.root / "docs" / "agents.txt"
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(text)
        link.parent.mkdir(exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(target)
        self.final[str(link)] = text

    def _folder_again(self, path: Path, text: bytes) -> None:
        shutil.rmtree(path.parent)
        self._put(path, text)

    def _beside_odd_name(self, path: Path, text: bytes) -> None:
        odd = os.path.join(os.fsencode(path.parent), b"caf\xe9.md")  # noqa: PTH118 - bytes
        Path(os.fsdecode(odd)).write_bytes(b"x")
        self._put(path, text)

    def _amid_noise(self, path: Path, text: bytes) -> None:
        self.noise(100)
        self._put(path, text)
        self.noise(100)

    def _new_folders(self, path: Path, text: bytes) -> None:
        self._put(self.root / f"new{self._edits % 40}" / "deep" / "down" / "GEMINI.md", text)


def forgetful(make: Callable[..., Any], *, events: int = 16) -> Callable[..., Any]:
    """Return what makes an inotify instance that keeps few events, where that is allowed.

    The machine's setting is changed for the moment in which one is made, so that no run, however
    it ends, leaves it behind.
    """

    def made(*args: Any, **more: Any) -> Any:
        before = QUEUE.read_text()
        try:
            QUEUE.write_text(str(events))
            return make(*args, **more)
        finally:
            QUEUE.write_text(before)

    return made if os.access(QUEUE, os.W_OK) else make
