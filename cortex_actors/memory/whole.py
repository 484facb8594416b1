"""The memory that two become: whose words, layer, tags and times it has. Pure.

Nothing of either is lost: what can be added is added, of what cannot the stronger counts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cortex_actors.domain.memory import MemoryType
from cortex_actors.domain.project import Trust
from cortex_actors.rules.merging import deeper
from cortex_actors.text.summary import abstract, summary

if TYPE_CHECKING:
    from cortex_actors.domain.memory import Memory

#: Whom a text is believed less, last: a whole is believed as its least trusted part is.
_TRUSTED = (Trust.AGENT, Trust.FILE, Trust.IMPORT, Trust.REMOTE)


def whole(new: Memory, old: Memory, text: str, *, memory_id: str, at: int) -> Memory:
    """Return the memory that `new`, said just now, and `old` become, with that text.

    It begins at the moment of the merge; its layer is the deeper one of the two, and it has been in
    it for as long as that one.
    """
    layer = deeper(new.layer, old.layer)
    since = min(each.layer_since or each.created_at for each in (new, old) if each.layer is layer)
    read = [each.accessed_at for each in (new, old) if each.accessed_at is not None]
    promoted = [each.promoted_at for each in (new, old) if each.promoted_at is not None]
    begun = [each.said_from for each in (new, old) if each.said_from is not None]
    ended = [each.said_until for each in (new, old) if each.said_until is not None]
    brief = _brief(new, old, text)
    return replace(
        new,
        id=memory_id,
        text=text,
        created_at=at,
        layer=layer,
        layer_since=since,
        type=MemoryType.FACT if MemoryType.FACT in {new.type, old.type} else new.type,
        abstract=brief[0],
        summary=brief[1],
        tags=_both(old.tags, new.tags),
        related=_both(old.related, new.related),
        replies_to=_both(old.replies_to, new.replies_to),
        attention=max(new.attention, old.attention),
        access_count=new.access_count + old.access_count,
        accessed_at=max(read, default=None),
        promoted_at=max(promoted, default=None),
        said_from=min(begun, default=None),
        said_until=max(ended, default=None),
        trust=max(new.trust, old.trust, key=_TRUSTED.index),
        merge_due=False,
    )


def spoken(memory: Memory) -> str:
    """Return what a memory says, without who spoke."""
    return memory.text.removeprefix(f"{memory.role}: ") if memory.role else memory.text


def _brief(new: Memory, old: Memory, text: str) -> tuple[str, str]:
    """Return abstract and summary: those of the part whose text stays, else new ones.

    An abstract that an agent wrote itself is kept where the text has become another one.
    """
    for each in (new, old):
        if each.text == text:
            return each.abstract, each.summary
    said = text.removeprefix(f"{new.role}: ") if new.role else text
    own = new.abstract if new.abstract != abstract(spoken(new)) else ""
    return own or abstract(said), summary(said)


def _both(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    """Return what either has, each once."""
    return tuple(dict.fromkeys((*old, *new)))
