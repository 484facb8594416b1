"""What an MCP server answers, and what its failures mean for a question."""

from __future__ import annotations

from dataclasses import dataclass

from cortex_actors.errors import StoreDown, StoreTimeout, StoreUnusable


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a tool has answered.

    Attributes:
        document: its structured answer; None where it gave none.
        texts: its texts, in order; pictures and the like are left out.

    """

    document: object
    texts: tuple[str, ...] = ()


class Told(StoreDown):
    """A server gave no usable answer; `said` is its own words, for the owner's eyes only."""

    def __init__(self, text: str, said: str = "") -> None:
        """Say what happened."""
        super().__init__(text)
        self.said = " ".join(said.split())[:200]


class Unknown(Told, StoreUnusable):
    """A server cannot be asked like this; somebody has to change something."""


class Ended(Told):
    """A session has ended, or the server knows it no more: another one may do."""


def why(error: BaseException | None, *, is_program: bool) -> StoreDown:
    """Return why no session came about; of a group of errors the others follow from the first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, StoreDown):
        return error
    if isinstance(error, TimeoutError):
        return StoreTimeout("opened no session in time")
    if is_program and isinstance(error, OSError | ValueError):
        reason = getattr(error, "strerror", None) or type(error).__name__
        return Unknown(f"its program cannot be started ({reason}); see options.command")
    what = "its program ended" if is_program else "does not speak MCP, or not with us"
    return Told(f"{what} ({type(error).__name__})", str(error))
