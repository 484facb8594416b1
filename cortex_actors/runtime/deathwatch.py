"""Who watches whom: an actor is told of another's end through its own mailbox.

A watch is one way and ends with either life, so it leaks nothing. It is on a life and not on a
name: an actor that wants to follow a name watches it again once it is back.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykka._envelope import Envelope

from cortex_actors.runtime.messages import NOPROC, Down

if TYPE_CHECKING:
    from cortex_actors.runtime.inbox import Inbox
    from cortex_actors.runtime.life import Life


class DeathWatch:
    """Whom one actor watches, and who watches it. Each side is touched on its own loop only."""

    def __init__(self, life: Life, inbox: Inbox) -> None:
        """Watch nobody; `inbox` is where word of an end goes."""
        self._life = life
        self._inbox = inbox
        self._watched: dict[Life, str] = {}
        self._watchers: dict[DeathWatch, None] = {}
        self._closed = False

    def watch(self, life: Life, name: str | None = None) -> None:
        """Have a `Down` sent when that life ends; at once if it has. A second watch is the first.

        The `Down` carries `name`, or what the actor is called itself.
        """
        if self._closed or life in self._watched:
            return
        self._watched[life] = name or life.label
        try:
            life.on_loop(partial(life.deaths.admit, self))
        except RuntimeError:  # its loop is closed
            self.hear(life, NOPROC)

    def unwatch(self, life: Life) -> None:
        """Want no `Down` of that life any more, not even one that waits already."""
        if self.settle(life) and not life.ended.done():
            life.on_loop(partial(life.deaths.dismiss, self))

    def settle(self, life: Life) -> bool:
        """End the watch on a life; return whether there was one."""
        return self._watched.pop(life, None) is not None

    def hear(self, life: Life, reason: object) -> None:
        """Send word of an end to the watcher's mailbox, if it still wants it."""
        name = self._watched.get(life)
        if name is not None:
            self._inbox.put(Envelope(Down(name, reason, life)))

    def admit(self, watcher: DeathWatch) -> None:
        """Remember whom to tell of this end."""
        if self._closed:
            watcher.hear(self._life, NOPROC)
        else:
            self._watchers[watcher] = None

    def dismiss(self, watcher: DeathWatch) -> None:
        """Forget somebody who is not to be told."""
        self._watchers.pop(watcher, None)

    def close(self, reason: object) -> None:
        """Tell everybody who watches that this life is over, and watch nobody any more."""
        self._closed = True
        watchers, self._watchers = self._watchers, {}
        for watcher in watchers:
            watcher.hear(self._life, reason)
        for life in list(self._watched):
            self.unwatch(life)
