"""The child process with the vector index, as exact search in memory; its files outlive it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from cortex_actors.errors import ChildProcessDown, DeadlineExceeded
from cortex_actors.runtime.child import ChildHandlerError
from cortex_actors.storage.insight_records import COLLECTION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cortex_actors.clock import Clock
    from cortex_actors.runtime.child import ChildProcess
    from tests.simulation.weather import Weather

#: Rows of one collection, by id.
Rows = dict[str, np.ndarray[Any, Any]]

#: What an op gives: JSON values and raw bytes.
Answer = tuple[dict[str, Any], bytes]


class Shelf:
    """The folders of the index: path -> collection -> rows."""

    def __init__(self, weather: Weather, clock: Clock) -> None:
        self.weather = weather
        self.clock = clock
        self.folders: dict[str, dict[str, Rows]] = {}
        self.children: list[Child] = []

    async def spawn(self, _module: str, **_how: Any) -> ChildProcess:
        """Start a child, in place of `ChildProcess.spawn`."""
        await self.clock.sleep(self.weather.delay(0.05))
        self.children = [each for each in self.children if each.lives]
        self.children.append(Child(self))
        return cast("ChildProcess", self.children[-1])

    def cut(self) -> None:
        """Cut the power: Chroma writes without fsync, so rows may be gone."""
        for child in self.children:
            child.kill()
        for collections in self.folders.values():
            for rows in collections.values():
                if self.weather.strikes("the index lost rows", 0.5):
                    for each in list(rows)[::2]:
                        del rows[each]


class Child:
    """One life of the process, as far as it is used."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._end: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._folder: dict[str, Rows] = {}
        self.code: int | None = None

    @property
    def lives(self) -> bool:
        """Tell whether it has not ended."""
        return not self._end.done()

    @property
    def held(self) -> set[str]:
        """What it would find."""
        return set(self._folder.get(COLLECTION, {}))

    async def request(
        self, op: str, params: Mapping[str, Any], body: bytes = b"", *, deadline: float
    ) -> tuple[dict[str, Any], bytes]:
        """Do what is asked, unless it ends first."""
        weather = self._shelf.weather
        takes = weather.delay(0.02)
        await asyncio.wait({self._end}, timeout=min(takes, deadline))
        if weather.strikes("the index crashed", 0.01):
            self.code = -11
            self.finish(ChildProcessDown("the simulated index crashed; it is started again"))
        if not self.lives:
            raise ChildProcessDown("the simulated index has ended; it is started again")
        if takes > deadline:
            raise DeadlineExceeded(f"the simulated index did not {op} in {deadline} s; ask again")
        handler: Callable[..., tuple[dict[str, Any], bytes]] = getattr(self, f"_{op}")
        try:
            return handler(params, body)
        except OSError as error:
            raise ChildHandlerError(str(error), "OSError") from error

    async def stop(self, _timeout: float | None) -> None:
        """End in order."""
        self.finish("normal")

    def kill(self) -> None:
        """End now."""
        self.code = -9 if self.code is None else self.code
        self.finish("killed")

    async def exited(self) -> object:
        """Return why it ended."""
        return await asyncio.shield(self._end)

    def finish(self, reason: object) -> None:
        """End for a reason."""
        if self.lives:
            self._end.set_result(reason)

    def _load(self, _params: Mapping[str, Any], _body: bytes) -> Answer:
        return {}, b""

    def _open(self, params: Mapping[str, Any], _body: bytes) -> Answer:
        if self._shelf.weather.strikes("the index does not open", 0.1):
            raise OSError("the simulated folder is damaged")
        self._folder = self._shelf.folders.setdefault(params["path"], {})
        return {"counts": {each: len(self._rows(each)) for each in params["collections"]}}, b""

    def _put(self, params: Mapping[str, Any], body: bytes) -> Answer:
        rows = np.frombuffer(body, np.float32).reshape(-1, params["dimension"])
        self._rows(params["collection"]).update(zip(params["ids"], rows, strict=True))
        return {}, b""

    def _drop(self, params: Mapping[str, Any], _body: bytes) -> Answer:
        for each in params["ids"]:
            self._rows(params["collection"]).pop(each, None)
        return {}, b""

    def _get(self, params: Mapping[str, Any], _body: bytes) -> Answer:
        held = self._rows(params["collection"])
        if "ids" in params:
            ids = [each for each in params["ids"] if each in held]
        else:
            ids = list(held)[params["offset"] : params["offset"] + params["limit"]]
        body = b"".join(held[each].tobytes() for each in ids) if params["rows"] else b""
        return {"ids": ids}, body

    def _query(self, params: Mapping[str, Any], body: bytes) -> Answer:
        vectors = np.frombuffer(body, np.float32).reshape(-1, params["dimension"])
        answer = {}
        for name in params["collections"]:
            rows = self._rows(name).items()
            near = [
                sorted((-float(row @ vector), each) for each, row in rows)[: params["limit"]]
                for vector in vectors
            ]
            ids = [[each for _, each in found] for found in near]
            cosines = [[-score for score, _ in found] for found in near]
            answer[name] = {"ids": ids, "cosines": cosines}
        return answer, b""

    def _close(self, _params: Mapping[str, Any], _body: bytes) -> Answer:
        return {}, b""

    def _rows(self, collection: str) -> Rows:
        return self._folder.setdefault(collection, {})
