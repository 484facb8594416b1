"""One exchange of a file for another that says more; blocks, on threads.

The new bytes are made ready beside the file under a name that the journal knows. Then the two
change places at one stroke, and what came aside is looked at: if it is not what the new bytes were
made from, somebody has saved in between, and it is put back.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cortex_actors.errors import CortexError
from cortex_actors.refusals import NoExchange
from cortex_actors.render.fence import revision
from cortex_actors.writing.attributes import carry
from cortex_actors.writing.exchange import UNABLE, exchange
from cortex_actors.writing.failures import told
from cortex_actors.writing.journal import State, sha256

if TYPE_CHECKING:
    from cortex_actors.writing.journal import Entry
    from cortex_actors.writing.place import Place

#: What the name of a new file ends with until all of it is on the disk.
PART = ".part"

#: What a new file may be done with: readable for all, as editors make one.
_MODE = 0o644

#: Times that a human's saves may cross ours before what came aside is kept as it is.
_ROUNDS = 16


@dataclass(frozen=True, slots=True)
class Swapped:
    """How an exchange ended.

    Attributes:
        aside: what still lies beside the file; "" when nothing does.
        shown: hash of what lies there: if it changes, somebody had it open.
        displaced: a human's text that no file holds any more.
        error: why it was not done; the state is `PENDING` if the disk has to be looked at again.

    """

    state: State
    aside: str = ""
    shown: str = ""
    displaced: bytes | None = None
    error: Exception | None = None


class Swap:
    """One exchange, in steps between which anything may happen, the end of the program too."""

    def __init__(self, place: Place, entry: Entry) -> None:
        """Remember what is to be done, and where."""
        self._place = place
        self._entry = entry
        #: Whether the file's name may lead to something that we put there.
        self._touched = False

    def write(self, after: bytes | None) -> Swapped:
        """Put new bytes in place of the file as the entry has it; None takes the file away.

        Somebody who saved in between has his text, and the state is `ABANDONED`. An error is in
        what is returned: a refusal, or `WriteFailed`.
        """
        try:
            with told(self._entry.path):
                try:
                    return self._tried(after)
                except FileNotFoundError:
                    # An editor moves the file away before it writes a new one.
                    if self._touched:
                        raise
                    return self.give_up()
        except CortexError as error:
            if self._touched:
                return Swapped(State.PENDING, error=error)
            self._clear()
            return Swapped(State.ABANDONED, error=error)

    def _tried(self, after: bytes | None) -> Swapped:
        """Make the bytes ready, compare, and put them in place."""
        place, entry = self._place, self._entry
        if after is not None:
            self._prepare(after)
        if place.peek(place.name) != (entry.before_sha256 or ""):
            return self.give_up()
        place.stay()
        if entry.before is None:
            return self._appear()
        return self._vanish() if after is None else self._exchange()

    def give_up(self) -> Swapped:
        """Leave the file as it is, without a trace of ours."""
        self._clear()
        return Swapped(State.ABANDONED)

    def give_way(self, displaced: str, *, standing: str | None = None) -> Swapped:
        """Put back what a human had saved before us; what he has saved since stays in front.

        `displaced` is its hash, `standing` that of what is in its place (ours). Whatever comes
        aside must be what was put in the place before; if it is not, it is newer, and belongs
        there.
        """
        place, entry = self._place, self._entry
        standing, aside = standing or entry.after_sha256, displaced
        for _ in range(_ROUNDS):
            try:
                exchange(place.folder, entry.aside, place.name)
            except FileNotFoundError:  # an editor has moved ours away, and makes a new one
                return self.put_back()
            found = place.peek(entry.aside)
            if found == standing:
                break
            standing, aside = aside, found
        place.sync()
        return Swapped(State.ABANDONED, entry.aside, place.peek(entry.aside), self._kept())

    def _kept(self) -> bytes | None:
        """Return what lies aside if it is a human's text that the journal does not have."""
        found, before = self._place.read(self._entry.aside), self._entry.before
        known = {self._entry.after_sha256, self._entry.before_sha256}
        if sha256(found) in known or (before is not None and revision(found) == revision(before)):
            return None
        return found

    def _prepare(self, after: bytes) -> None:
        """Make the new bytes ready: under their name they are whole and on the disk."""
        place, part = self._place, self._entry.aside + PART
        opened = place.create(part)
        try:
            with os.fdopen(opened, "wb", closefd=False) as file:
                file.write(after)
            self._dress(opened)
            os.fsync(opened)
        finally:
            os.close(opened)
        place.rename(part, self._entry.aside)

    def _dress(self, opened: int) -> None:
        """Give the new file what the old one is beside its bytes."""
        if self._entry.before is None:
            os.fchmod(opened, _MODE)
            return
        source = self._place.open(self._place.name)
        try:
            carry(source, opened, path=self._entry.path)
        finally:
            os.close(source)

    def _exchange(self) -> Swapped:
        """Exchange the two, then look at what was displaced."""
        place, entry = self._place, self._entry
        try:
            exchange(place.folder, entry.aside, place.name)
        except OSError as error:
            if error.errno in UNABLE:
                raise NoExchange.of(entry.path, error=error.strerror) from error
            raise
        self._touched = True
        # In this order: who has closed it in between has changed it. What somebody has open goes
        # back at once, so that whatever he writes, and whenever, arrives in the file.
        in_use, displaced = place.is_open(entry.aside), place.peek(entry.aside)
        if in_use or displaced != entry.before_sha256:
            return self.give_way(displaced)
        try:
            place.stay()
        except CortexError as error:
            return replace(self.give_way(displaced), error=error)
        place.sync()
        return Swapped(State.DONE, entry.aside, displaced)

    def _appear(self) -> Swapped:
        """Give the new file its name, unless somebody has made one meanwhile."""
        place, entry = self._place, self._entry
        try:
            place.link(entry.aside, place.name)
        except FileExistsError:
            return self.give_up()
        place.sync()
        self._clear()
        return Swapped(State.DONE)

    def _vanish(self) -> Swapped:
        """Take the file away, if it is what was to be taken away."""
        place, entry = self._place, self._entry
        place.rename(place.name, entry.aside)
        self._touched = True
        place.sync()
        in_use, shown = place.is_open(entry.aside), place.peek(entry.aside)
        if shown == entry.before_sha256 and not in_use:
            return Swapped(State.DONE, entry.aside, shown)
        return self.put_back()

    def put_back(self) -> Swapped:
        """Give a file that was taken away its name again, unless a newer one has it."""
        place, entry = self._place, self._entry
        kept = None
        try:
            place.link(entry.aside, place.name)
        except FileExistsError:
            kept = place.read(entry.aside)
        place.unlink(entry.aside)
        place.sync()
        return Swapped(State.ABANDONED, displaced=kept)

    def _clear(self) -> None:
        """Remove what is ours from the folder."""
        for name in (self._entry.aside + PART, self._entry.aside):
            self._place.unlink(name)
