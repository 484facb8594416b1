"""What projects agree on is asked by name once it is a principle, through the whole tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.flow.downward import AGREED, organised
from tests.flow.support import follow, grown

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

#: What two projects agree on.
SAID = "Write a migration for every change of the schema."

#: The store of it.
STORE = "cortex_principles"


def stores(found: dict[str, Any]) -> list[str]:
    """Return whose the hits of an answer are."""
    return [each["store"] for each in found["hits"]]


class TestPrinciples:
    async def test_by_name(self, tmp_path: Path, tmp_home: Path) -> None:
        """A principle answers where principles are asked, until a person takes it back."""
        roots = [tmp_path.resolve() / name for name in ("one", "two")]
        for root in roots:
            root.mkdir()
            (root / "CLAUDE.md").write_text(f"# {root.name}\n\n## Chores\n\n- {SAID}\n")
        async with grown(tmp_home, **AGREED) as tree:
            await follow(tree, *roots, within=60)
            await organised(tree)
            cortex = tree.cortex
            (known,) = (await cortex.principles())["principles"]

            found = await cortex.recall("migration of the schema", stores=[STORE])
            (hit,) = found["hits"]
            assert (known["id"], SAID, [STORE]) == (hit["id"], hit["text"], stores(found))
            assert known["rank"] == hit["extra"]["rank"]
            assert isinstance(hit["raw_distance"], float)
            assert ([STORE], []) == (found["stores_searched"], found["skipped"])

            assert STORE not in stores(await cortex.recall("migration of the schema"))
            await cortex.configure({"local": "separate"})
            assert STORE in stores(await cortex.recall("migration of the schema"))

            await cortex.revoke(known["id"])
            assert [] == stores(await cortex.recall("migration", stores=[STORE]))
