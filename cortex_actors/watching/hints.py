"""One ear for the folders of every project: where something happened, its watcher looks.

All folders share one inotify instance (a user has 128 on most Linux systems) and one thread,
whatever the number of projects. Hints may get lost; nothing depends on them but the delay.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from watchfiles import Change, DefaultFilter, watch

from cortex_actors.runtime.threads import Threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cortex_actors.clock import Clock
    from cortex_actors.sections import WatchingSettings

log = logging.getLogger("cortex.hints")

#: Seconds before the kernel's events are asked for again after they failed; doubled up to the
#: longest, because what is used up (inotify's watches) stays so for a while.
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 300.0

#: Seconds in which changes of the set gather: a hundred watchers that start cause few rounds.
GATHER = 0.05

#: Rounds that may have a thread: the one that listens, and the one that is about to follow it.
ROUNDS = 2


class WatchMode(StrEnum):
    """How changes of a project are noticed; whatever it is, they are, by sweeps."""

    #: The kernel's events tell where to look at once.
    EVENTS = "events"
    #: Some of its folders have no events that could be heard, or the settings want none.
    POLL = "poll"
    #: The kernel's events fail at the moment; they are asked for again.
    DEGRADED = "degraded"


class Hints:
    """Wakes the listeners of a folder when the kernel says that something happened there.

    Folders are watched one by one, not as a tree: a tree's watches are used up by its
    dependencies. Anything may go wrong (one name that is not UTF-8 ends a round): then everybody
    looks once, and hints are asked for again after a pause. Lives on the loop.
    """

    def __init__(self, clock: Clock, settings: WatchingSettings) -> None:
        """Listen to nothing yet."""
        self._clock = clock
        self._settings = settings
        self._threads = Threads("hints", ROUNDS)
        self._ears: dict[str, _Ear] = {}
        #: Set when folders come or go, and when a round begins to listen or ends.
        self.news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._pause = FIRST_PAUSE
        self._stale = False
        self._closed = False
        #: Whether the kernel's events failed and are not asked for again yet, and why.
        self._resting, self._reason = False, ""
        #: The folders that are listened to now.
        self.folders: frozenset[str] = frozenset()

    def adopt(self, settings: WatchingSettings) -> None:
        """Follow other settings from the next round on."""
        self._settings = settings

    def listen(
        self,
        project_id: str,
        folders: frozenset[str],
        wake: Callable[[], None],
        *,
        polled: bool = False,
    ) -> None:
        """Call `wake` when something happens in those folders, instead of what was said last.

        It is called once they are listened to, too: what happened until then was not heard. With
        `polled` it has others that are only swept, because no event comes of them.
        """
        self._ears[project_id] = _Ear(folders, wake, polled)
        self.news.set()
        if self._task is None and folders and not self._closed:
            self._task = asyncio.get_running_loop().create_task(self._attend(), name="hints")

    def forget(self, project_id: str) -> None:
        """Listen to a project's folders no longer; nothing happens if none were."""
        self._ears.pop(project_id, None)
        self.news.set()

    def find_mode(self, project_id: str) -> WatchMode | None:
        """Return how a project is watched; None for one that is not watched."""
        ear = self._ears.get(project_id)
        if ear is None:
            return None
        if ear.polled:
            return WatchMode.POLL
        return WatchMode.DEGRADED if self._resting else WatchMode.EVENTS

    def describe(self) -> dict[str, Any]:
        """Return how each project is watched, the least of it, and what is wrong, a sentence each.

        Any thread may ask. That events fail is no reason before they do so again and again: once
        may be one odd name, and costs a few seconds.
        """
        modes = {each: self.find_mode(each) for each in list(self._ears)}
        least = next((m for m in (WatchMode.DEGRADED, WatchMode.POLL) if m in modes.values()), None)
        reasons = []
        if self._resting and self._pause > 2 * FIRST_PAUSE:
            reasons = [f"watching: files are only swept, without events: {self._reason}"]
        return {"mode": least or WatchMode.EVENTS, "modes": modes, "reasons": reasons}

    def close(self) -> None:
        """End for good; no listener is woken any more."""
        self._closed = True
        self._ears.clear()
        if self._task is not None:
            self._task.cancel()
        self._threads.close()

    def list_wanted(self) -> frozenset[str]:
        """Return the folders that have listeners. Any thread may ask."""
        return frozenset().union(*(ear.folders for ear in list(self._ears.values())))

    async def _attend(self) -> None:
        """Listen as long as anybody does, whatever goes wrong."""
        try:
            while self.list_wanted():
                try:
                    await self._follow()
                except Exception as error:  # noqa: BLE001 - whatever watchfiles' Rust side raises
                    await self._rest(error)
        finally:
            self._task = None

    async def _rest(self, error: Exception) -> None:
        """Have everybody look, and wait before the next attempt."""
        told = logging.WARNING if self._pause == FIRST_PAUSE else logging.DEBUG
        log.log(told, "projects are only swept for %.0f s: %s", self._pause, error)
        self._wake(self._ears.values())
        pause, self._pause = self._pause, min(self._pause * 2, LONGEST_PAUSE)
        self._resting, self._reason = True, str(error)
        await self._clock.sleep(pause)

    async def _follow(self) -> None:
        """Listen until no folder is wanted; raises what ends a round.

        Another set of folders is another round. The next one listens before the last one ends,
        so that nothing falls between them.
        """
        now: _Round | None = None
        coming: _Round | None = None
        try:
            while wanted := self.list_wanted():
                self.news.clear()
                if coming is not None and coming.is_open:
                    # The next round has begun to listen; who has new folders looks once more.
                    if now is not None:
                        now.stop()
                    fresh, self.folders = coming.folders - self.folders, coming.folders
                    now, coming, self._resting = coming, None, False
                    self._wake(e for e in self._ears.values() if not fresh.isdisjoint(e.folders))
                if coming is None and (now is None or self._stale or now.wanted != wanted):
                    self._stale = False
                    coming = _Round(self)
                    listening = self._threads.run(coming.run, self._settings.debounce_ms)
                    coming.task = asyncio.create_task(listening, name="hints/round")
                    coming.task.add_done_callback(self._on_round_end)
                await self.news.wait()
                for each in filter(None, (now, coming)):
                    each.check()
        finally:
            self.folders = frozenset()
            for each in filter(None, (now, coming)):
                each.stop()

    def _on_round_end(self, task: asyncio.Task[None]) -> None:
        """Note that a round has ended; a stopped one may have failed, which is no news."""
        if not task.cancelled():
            task.exception()
        self.news.set()

    def on_changes(self, changes: set[tuple[Change, str]]) -> None:
        """Wake those whose folders were touched."""
        self._pause = FIRST_PAUSE
        if any(path in self.folders for change, path in changes if change == Change.deleted):
            # The kernel's watch went with the folder, which may be made again at once.
            self._stale = True
            self.news.set()
        touched = {place for _, path in changes for place in (path, os.path.dirname(path))}  # noqa: PTH120 - names that are only text
        self._wake(ear for ear in self._ears.values() if not touched.isdisjoint(ear.folders))

    @staticmethod
    def _wake(ears: Iterable[_Ear]) -> None:
        """Wake some; one that fails costs the others nothing."""
        for ear in list(ears):
            try:
                ear.wake()
            except Exception:
                log.exception("a listener could not be woken")


@dataclass(frozen=True, slots=True)
class _Ear:
    """Who wants to be woken, and by what."""

    folders: frozenset[str]
    wake: Callable[[], None]
    polled: bool = False


class _Round:
    """One set of folders that is listened to, on a thread, until it is stopped."""

    #: What waits for the thread.
    task: asyncio.Task[None]

    def __init__(self, hints: Hints) -> None:
        self._hints = hints
        self._loop = asyncio.get_running_loop()
        self._ending = threading.Event()
        self.is_open = False
        #: The folders that were wanted, and those of them that were there, when the round began.
        self.wanted: frozenset[str] = frozenset()
        self.folders: frozenset[str] = frozenset()

    def run(self, debounce_ms: int) -> None:
        """Listen until stopped (on a thread); raises whatever watchfiles does."""
        self._ending.wait(GATHER)
        self.wanted = self._hints.list_wanted()
        # One folder that is not there would be the end of the round.
        self.folders = frozenset(each for each in self.wanted if os.path.isdir(each))  # noqa: PTH112 - as above
        for changes in watch(
            *self.folders,
            watch_filter=DefaultFilter(ignore_dirs=()),
            debounce=debounce_ms,
            # Milliseconds in which watchfiles gathers events before it hands them over. Its thread
            # wakes up at every step, whatever happens: at 20 it made half of the wake-ups of an
            # idle daemon.
            step=50,
            stop_event=self,
            recursive=False,
            ignore_permission_denied=True,
        ):
            self._loop.call_soon_threadsafe(self._hints.on_changes, changes)

    def is_set(self) -> bool:
        """Tell watchfiles whether to stop: it asks at every step, first once it listens."""
        if not self.is_open:
            self.is_open = True
            self._loop.call_soon_threadsafe(self._hints.news.set)
        return self._ending.is_set()

    def stop(self) -> None:
        """End within a step."""
        self._ending.set()

    def check(self) -> None:
        """Raise what ended the round."""
        if self.task.done():
            self.task.result()
