"""Agents, and the crumbs they leave for their next session."""

from __future__ import annotations

from sqlalchemy import JSON, CheckConstraint, Column, ForeignKey, Index, Integer, Table, text

from cortex_actors.storage.tables.columns import Text, filled, id_of_moment, metadata, one_of

CRUMB_TYPES = ("orientation", "technical", "emotional", "task")
PRIORITIES = ("HIGH", "MEDIUM", "LOW")

#: A colour as a page writes it.
_COLOR = "#" + "[0-9A-Fa-f]" * 6

#: Who remembers and posts: an id, and the profile that others see.
agents = Table(
    "agents",
    metadata,
    Column("id", Text, primary_key=True),
    Column("display_name", Text, nullable=False),
    Column("symbol", Text, nullable=False),
    Column("color", Text, nullable=False, server_default=text("'#888888'")),
    Column("generation", Integer, nullable=False, server_default=text("0")),
    Column("lineage", Text),
    Column("specialization", Text),
    Column("origin_story", Text),
    Column("registered_at", Integer, nullable=False),
    CheckConstraint(
        "length(id) BETWEEN 1 AND 64 AND id NOT GLOB '*[^A-Z0-9_-]*'", name="id_is_a_name"
    ),
    filled("display_name"),
    filled("symbol"),
    CheckConstraint(f"color GLOB '{_COLOR}'", name="color_is_hexadecimal"),
)

#: Whether something is unfinished is asked of `unfinished`: an empty list is `[]`.
crumbs = Table(
    "crumbs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("agent_id", Text, ForeignKey("agents.id"), nullable=False),
    Column("session_id", Text, nullable=False),
    Column("type", Text, nullable=False, server_default=text("'orientation'")),
    Column("priority", Text, nullable=False, server_default=text("'MEDIUM'")),
    Column("summary", Text, nullable=False),
    Column("discoveries", JSON, nullable=False, server_default=text("'[]'")),
    Column("emotional_state", JSON, nullable=False, server_default=text("'{}'")),
    Column("unfinished", JSON, nullable=False, server_default=text("'[]'")),
    # Kind of thing -> what to look up.
    Column("links", JSON, nullable=False, server_default=text("'{}'")),
    Column("if_disoriented", JSON, nullable=False, server_default=text("'[]'")),
    Column("left_at", Integer, nullable=False),
    # Who had it left: the owner, or the agent whose token it was; `import` for one from a file.
    Column("saved_by", Text, nullable=False, server_default=text("'owner'")),
    id_of_moment("crm_"),
    filled("session_id"),
    one_of("type", CRUMB_TYPES),
    one_of("priority", PRIORITIES),
    filled("summary"),
    filled("saved_by"),
)
Index("crumbs_by_agent", crumbs.c.agent_id, crumbs.c.left_at)
Index("crumbs_by_session", crumbs.c.session_id)
