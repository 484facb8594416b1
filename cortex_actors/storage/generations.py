"""Generations: where each one lies, and what becomes of those that are not in use any more.

The ledger says which generation is in use. One that is given up is replaced in one write, by
compare-and-set: whoever gives it up a second time, because the first answer was lost, finds the new
one and begins none. A folder is never used again after that, so it is deleted before the new one
is opened: on a full disk that is what makes room.
"""

from __future__ import annotations

import json
import logging
import shutil
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cortex_actors.home import write_private
from cortex_actors.storage import indexing
from cortex_actors.storage.server import Server

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

    from cortex_actors.sections import StorageSettings
    from cortex_actors.storage.indexing import State

log = logging.getLogger("cortex.vectors")

#: In the folder of a generation that lies on a server: where. So the server can be asked to delete
#: it even after a crash between its making and any other note of it.
MARKER = "server.json"


@dataclass(frozen=True, slots=True)
class Place:
    """Where one generation lies: in a folder, or on a server under names that end in `suffix`."""

    generation: int
    folder: Path
    suffix: str
    server: Server | None
    collections: tuple[str, ...]

    def params(self) -> dict[str, Any]:
        """Return what `open` is told."""
        where: dict[str, Any] = {"path": str(self.folder), "server": None}
        if self.server is not None:
            where = {"path": "", "server": self.server.params()}
        return {**where, "suffix": self.suffix, "collections": list(self.collections)}


class Generations:
    """The folder that holds one folder for each generation."""

    def __init__(
        self, folder: Path, settings: StorageSettings, collections: tuple[str, ...]
    ) -> None:
        """Keep generations in a folder, or on the server that the settings name."""
        self._folder = folder
        self._settings = settings
        self.collections = collections

    def place(self, state: State) -> Place:
        """Return where a generation lies; raises `ConfigurationError` for a server's address."""
        folder = self._folder / state.folder
        if self._settings.index == "embedded":
            return Place(state.generation, folder, "", None, self.collections)
        settings = self._settings
        server = Server.of(settings.index_url, system_store=settings.trust_system_store)
        suffix = _suffix(state.folder)
        return Place(state.generation, folder, suffix, server, self.collections)

    def prepare(self, place: Place) -> None:
        """Make a generation's folder, and the note of its server; raises `OSError`."""
        place.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if place.server is not None:
            write_private(place.folder / MARKER, json.dumps({"url": place.server.url}))

    def others(self, place: Place) -> list[Path]:
        """Return the folders of generations that are not in use."""
        return [path for path in self._folder.glob("gen-*") if path != place.folder]

    def remote(self, place: Place) -> dict[str, Path]:
        """Return the old generations on the same server: what their names end in, and a folder."""
        if place.server is None:
            return {}
        wanted = place.server.url
        return {_suffix(path.name): path for path in self.others(place) if _url(path) == wanted}

    def sweep(self, place: Place) -> None:
        """Delete the folders of other generations; those on our server wait until it has them."""
        keep = self.remote(place).values()
        for folder in self.others(place):
            if folder in keep:
                continue
            if url := _url(folder):
                log.warning("collections that end in %s stay on %s", _suffix(folder.name), url)
            discard(folder)


def discard(folder: Path) -> None:
    """Delete a folder; what cannot be deleted now is deleted another time."""
    shutil.rmtree(folder, ignore_errors=True)


def renewed(connection: Connection, model: str, broken: State | None) -> State:
    """Return the generation to use: a new one when there is none for the model, or it is `broken`.

    Doing it twice begins one generation.
    """
    now = indexing.state(connection)
    if now is None or now.model != model or (broken and now.folder == broken.folder):
        return indexing.rebuild(connection, model)
    return now


def _suffix(folder: str) -> str:
    """Return what the names of a generation's collections end in: gen-3-1a2b -> -g3-1a2b."""
    return "-g" + folder.removeprefix("gen-")


def _url(folder: Path) -> str | None:
    """Return the server that a generation lies on; None for one in its folder."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        return str(json.loads((folder / MARKER).read_text())["url"])
    return None
