"""What the tests of links share: ids of principles by what they say, and the links of a ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.domain.insight import hash_statement
from cortex_actors.domain.principle import make_principle_id

if TYPE_CHECKING:
    from tests.storage.support import Store


def named(text: str) -> str:
    """Return the id of a principle that says that."""
    return make_principle_id(hash_statement(text))


async def linked(store: Store) -> list[tuple[str, str, str]]:
    """Return the links of a ledger: the two ends and the type, in order."""
    query = "SELECT source_id, target_id, type FROM principle_links ORDER BY 1, 2, 3"
    return [(str(one), str(other), str(kind)) for one, other, kind in await store.rows(query)]
