"""What the runtime itself sends through a mailbox: an end that is asked for, word of another's end.

No mailbox refuses or drops these, however full it is; like any other message they wait their turn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pykka.messages import ProxyCall, ProxyGetAttr, ProxySetAttr, _ActorStop

from cortex_actors.runtime.future import AsyncioFuture, Fate

if TYPE_CHECKING:
    from pykka._envelope import Envelope

#: The reason of a `Down` for somebody who was dead, or whose name nobody had, when the watch began.
NOPROC: Final = "noproc"


class Shutdown:
    """Asks an actor to end for a reason, after the messages that came before this one."""

    __slots__ = ("reason",)

    def __init__(self, reason: object = "shutdown") -> None:
        """Name the reason that becomes the actor's exit reason."""
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Down:
    """A watched actor has ended, and why; `NOPROC` if it had before the watch began."""

    name: str
    reason: object
    #: Whose life it was, so that `unwatch` holds for a message that waits already; None for a name
    #: that nobody had.
    life: object | None = field(default=None, repr=False, compare=False)


#: Messages that a mailbox takes when it is full, and never drops for another one.
CONTROL: Final = (_ActorStop, Shutdown, Down)


def title(message: object) -> str:
    """Return what a message is called where people read: the method's name, or the type's."""
    if isinstance(message, ProxyCall | ProxyGetAttr | ProxySetAttr):
        return ".".join(message.attr_path)
    return type(message).__name__


def refuse(envelope: Envelope[Any], error: BaseException, fate: Fate = Fate.UNHANDLED) -> None:
    """Tell the asker, if there is one, that no answer will come; a stop is simply done."""
    reply = envelope.reply_to
    if reply is None:
        return
    if isinstance(envelope.message, _ActorStop):
        reply.set(None)
    elif isinstance(reply, AsyncioFuture):
        reply.fail(error, fate)
    else:
        reply.set_exception((type(error), error, None))
