"""The short names of what has an id: its first letters, as long as they mean only one."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from cortex_actors.errors import BadInput, NotFound
from cortex_actors.storage.schema import clusters, contradictions, insights, principles

if TYPE_CHECKING:
    from sqlalchemy import Connection

#: Ids that an error names where the beginning of one means several.
MOST = 4


class Named(StrEnum):
    """What can be asked for by an id, with what that begins with."""

    INSIGHT = "ins_"
    CLUSTER = "clu_"
    CONTRADICTION = "con_"
    PRINCIPLE = "pri_"


#: What each is called, and where all of them are listed.
_WHAT = {
    Named.INSIGHT: ("insight", "cortex insights --status all"),
    Named.CLUSTER: ("cluster", "cortex clusters"),
    Named.CONTRADICTION: ("contradiction", "cortex contradictions --status all"),
    Named.PRINCIPLE: ("principle", "cortex principles --status all"),
}

_IDS = {
    Named.INSIGHT: insights.c.id,
    Named.CLUSTER: clusters.c.id,
    Named.CONTRADICTION: contradictions.c.id,
    Named.PRINCIPLE: principles.c.id,
}


def find(connection: Connection, kind: Named, name: str) -> str:
    """Return the id that a name means: the id, or its beginning with or without the prefix.

    Raises `NotFound`, and `BadInput` for a name that means several.
    """
    wanted = kind + name.strip().lower().removeprefix(kind)
    column = _IDS[kind]
    query = select(column).where(func.substr(column, 1, len(wanted)) == wanted).order_by(column)
    found: list[str] = list(connection.execute(query.limit(MOST)).scalars())
    what, where = _WHAT[kind]
    if not found or wanted == kind:
        message = f"no {what} is called {name or 'nothing'!r}; list them with: {where}"
        raise NotFound(message)
    if len(found) > 1 and wanted != found[0]:
        message = f"{name} means several {what}s: {', '.join(found)}; give more of the id"
        raise BadInput(message)
    return found[0]
