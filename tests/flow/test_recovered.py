"""A daemon whose ledger was damaged: it goes on with the backup, and reads files once more."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cortex_actors.home import Home
from cortex_actors.storage.ledger import faults
from cortex_actors.testing import settled
from tests.flow.support import copied, first, follow, forgets, grown, knows

if TYPE_CHECKING:
    from cortex_actors.tree import Tree


async def changed(tree: Tree, root: Path) -> None:
    """Let a file say something new, another one appear, and something be published."""
    (root / "CLAUDE.md").write_text("## Zebra\n\nZebras are striped.\n")
    (root / "GEMINI.md").write_text("## Okapi\n\nOkapis are shy.\n")
    await knows(tree, "Zebras are striped.")
    await knows(tree, "Okapis are shy.")
    await tree.cortex.publish("custom:deployed", {"version": "1.4"})
    await settled(tree)


@pytest.mark.slow
class TestRecovered:
    async def test_files_are_read_again(self, tmp_path: Path, tmp_home: Path) -> None:
        """What files say since the backup is known again; what cannot be, is reported."""
        (root,) = copied(tmp_path, "atlas-api")
        async with grown(tmp_home) as tree:
            await follow(tree, root)
            made = await tree.cortex.backup()
            await changed(tree, root)
        home = Home(tmp_home)
        home.ledger.write_bytes(b"Not a page of it is left. " * 9_999)

        async with grown(tmp_home) as tree:
            await knows(tree, "Zebras are striped.")
            await knows(tree, "Okapis are shy.")
            hit = await first(tree, "are okapis shy")
            status = await tree.cortex.status()

        assert "Okapis are shy." in hit["text"]
        assert Path(made["path"]).name == status["recovery"]["backup"]
        assert status["recovery"]["missing"] > 0
        assert "custom:deployed" in Path(status["recovery"]["report"]).read_text()
        assert status["backup"]["path"] == made["path"]

    async def test_salvaged(self, tmp_path: Path, tmp_home: Path) -> None:
        """Where the damaged file can still be read, nothing at all is missing."""
        (root,) = copied(tmp_path, "atlas-api")
        async with grown(tmp_home) as tree:
            await follow(tree, root)
            await tree.cortex.backup()
            await changed(tree, root)
        ledger = Home(tmp_home).ledger
        with ledger.open("r+b") as file:
            file.write(bytes(4_096))
        faults.suspect(ledger, "a test")

        async with grown(tmp_home) as tree:
            await knows(tree, "Zebras are striped.")
            (root / "GEMINI.md").unlink()
            await forgets(tree, "Okapis are shy.")
            status = await tree.cortex.status()

        assert (0, []) == (status["recovery"]["missing"], status["recovery"]["unreadable"])
        assert 1 == status["projects"]
