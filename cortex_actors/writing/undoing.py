"""Taking a write back: what a human wrote since stays, and what he wrote in our section, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.refusals import EditedSection
from cortex_actors.render.fence import find, removed, restored
from cortex_actors.writing.journal import sha256

if TYPE_CHECKING:
    from cortex_actors.writing.journal import Entry


def older(data: bytes, undone: Entry) -> bytes | None:
    """Return a file without a write: as it was before, or with the section it had then.

    None for a file that is to be taken away, because it was made by that write. Raises
    `EditedSection`, and as `fence.find`.
    """
    if sha256(data) == undone.after_sha256:
        return undone.before
    fence = find(data, path=undone.path)
    if fence is not None and not fence.intact:
        # What somebody has changed there since would go with the section.
        raise EditedSection.of(undone.path)
    if undone.before is None:
        return removed(data, path=undone.path)
    return restored(data, undone.before, path=undone.path)
