"""What a memory was made of and what it replaced, told to others: only what is everybody's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.domain.memory import Realm
from cortex_actors.storage import memory_records
from cortex_actors.storage.memory import memory_lists
from tests.storage.things import mem, memory

if TYPE_CHECKING:
    from tests.storage.things import Tables

#: How a part is made a part, and what was replaced that.
MERGE = (
    "UPDATE memories SET status = 'merged', merged_into = ?, merged_as = ?, merged_at = 1,"
    " merged_by = 'rules' WHERE id = ?"
)
REPLACE = "UPDATE memories SET status = 'superseded', replaced_by = ?, replaced_at = 1 WHERE id = ?"


class TestEpisodes:
    def test_parts(self, tables: Tables) -> None:
        """Of the parts of a whole the newest comes first, and none that is somebody's own."""
        saves(tables, whole=Realm.VILLAGE, old=Realm.VILLAGE, new=Realm.VILLAGE)
        saves(tables, own=Realm.PRIVATE, bridge=Realm.BRIDGE)
        for at, part in enumerate(("old", "new", "own", "bridge")):
            tables.connection.exec_driver_sql(MERGE, (mem("whole"), at, mem(part)))
        found = memory_lists.list_originals(tables.connection, [mem("whole")])

        assert ["new", "old"] == [each["text"] for each in found[mem("whole")]]

    def test_replaced(self, tables: Tables) -> None:
        """What somebody's own memory said is not told as what another one replaced."""
        saves(tables, now=Realm.VILLAGE, before=Realm.VILLAGE, own=Realm.PRIVATE)
        for each in ("before", "own"):
            tables.connection.exec_driver_sql(REPLACE, (mem("now"), mem(each)))
        found = memory_lists.list_replaced(tables.connection, [mem("now")])

        assert "before" == found[mem("now")]["text"]


def saves(tables: Tables, **realms: Realm) -> None:
    """Save memories that say what they are called, each later than the one before."""
    some = [
        memory(name, at, realm=realm, related=("B",) if realm is Realm.BRIDGE else ())
        for at, (name, realm) in enumerate(realms.items())
    ]
    memory_records.save(tables.connection, some)
