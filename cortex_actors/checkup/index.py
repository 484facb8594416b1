"""Whether the vector index holds what the ledger says, as whoever has it open finds out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.domain.hit import Diagnosis, Repair, Severity
from cortex_actors.errors import ActorAway, CortexError, IndexDown

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from cortex_actors.storage.index.life import Place
    from cortex_actors.storage.index.verification import Verdict

#: What the comparison is called: `index` is what the ledger alone says of it.
CONTENT = "index content"

#: What mends an index that is not good while no daemon runs.
ANEW = "cortex doctor --repair begins another from the stored vectors, and so does a start"

#: What a daemon does about one.
_RENEWED = "nothing: another is being built from the stored vectors, and exact search answers"

#: What has one begun whose folder is gone: whoever has its files open does not notice.
_REPAIR = "cortex doctor --repair begins another from the stored vectors"


async def compared(verify: Callable[[], Awaitable[Verdict]], *, renews: bool) -> list[Diagnosis]:
    """Return what a verification of the index finds.

    `renews` says that whoever has it open begins a new generation by itself when it is not good:
    a daemon does. Then one that does not answer now is being seen to.
    """
    try:
        verdict = await verify()
    except (IndexDown, ActorAway) as error:
        if not renews:
            text = f"it cannot be used: {error}"
            return [Diagnosis(CONTENT, text, Severity.WARNING, ANEW, Repair.INDEX)]
        text = f"it does not answer now, exact search does: {error}"
        return [Diagnosis(CONTENT, text, Severity.NOTE, "cortex status says how it is")]
    except CortexError as error:
        text = f"it could not be compared: {error}"
        return [Diagnosis(CONTENT, text, Severity.ERROR, "try it again")]
    if verdict.ok:
        return [Diagnosis(CONTENT, _held(verdict))]
    if renews:
        return [Diagnosis(CONTENT, verdict.text, Severity.WARNING, _RENEWED)]
    return [Diagnosis(CONTENT, verdict.text, Severity.WARNING, ANEW, Repair.INDEX)]


def lost(place: Place) -> Diagnosis | None:
    """Return that the folder of the generation that answers is gone, or empty; None if it is not.

    Its files stay open until the daemon ends, so every comparison still finds it good. A generation
    on a server has nothing of its own here. Blocks for a moment.
    """
    if place.server is not None or _filled(place.folder):
        return None
    text = f"{place.folder} is gone; what is open answers until the daemon ends"
    return Diagnosis(CONTENT, text, Severity.ERROR, _REPAIR, Repair.INDEX)


def _filled(folder: Path) -> bool:
    """Tell whether a folder is there and holds anything."""
    try:
        return any(folder.iterdir())
    except OSError:
        return False


def _held(verdict: Verdict) -> str:
    """Return what a good index holds."""
    held = sum(each.held for each in verdict.collections)
    asked = sum(each.canaries for each in verdict.collections)
    found = f"; {asked:,} that were asked for find themselves" if asked else ""
    return f"it holds {held:,} vectors, as the ledger says{found}"
