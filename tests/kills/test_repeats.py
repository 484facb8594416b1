"""Events that come several times, in any order."""

from __future__ import annotations

import asyncio
import os
import random
from typing import TYPE_CHECKING

import pytest

from cortex_actors.topics import FILE_CHANGED
from tests.flow.support import copied as sample
from tests.kills import audit
from tests.kills.ledger_file import Rows, copied, differences, make
from tests.kills.standing import standing
from tests.kills.story import is_read, rest

if TYPE_CHECKING:
    from pathlib import Path

#: Times that one event comes, at most.
TIMES = 5

#: The seed of a run; CORTEX_KILLS_SEED repeats one.
SEED = int(os.environ.get("CORTEX_KILLS_SEED") or random.SystemRandom().randrange(10**6))


def edited(roots: list[Path]) -> list[Path]:
    """Change, add and remove files; return the paths of which something is to be said."""
    told = sorted(path for root in roots for path in root.rglob("*") if is_read(path, root))
    for number, path in enumerate(told):
        if number % 3 == 0:
            path.write_text(f"{path.read_text()}\n## Added\n\nSay {number % 2} twice.\n")
        elif number % 3 == 1:
            path.unlink()
    new = [root / "part/CLAUDE.md" for root in roots]
    for path in new:
        path.parent.mkdir()
        path.write_text("## Added\n\nSay 1 twice.\n")
    return told + new


async def told(folder: Path, home: Path, chance: random.Random | None) -> dict[str, Rows]:
    """Return what the ledger holds after edits that were told of once, or often and shuffled."""
    roots = sample(folder)
    make(home)
    async with standing(home) as tree:
        for root in roots:
            await tree.cortex.add_project(str(root))
        await rest(tree)
        said = edited(roots)
        if chance is not None:
            said = [path for path in said for _ in range(chance.randint(1, TIMES))]
            chance.shuffle(said)
        for some in range(0, len(said), TIMES):
            await asyncio.gather(
                *(tree.cortex.publish(FILE_CHANGED, {"path": str(p)}) for p in said[some:][:TIMES])
            )
        await rest(tree)
    with copied(home) as ledger:
        assert [] == audit.examine(ledger).problems
        assert [] == list(audit.once(ledger))
        return ledger.content()


class TestRepeats:
    @pytest.mark.slow
    async def test_shuffled(self, tmp_path: Path, tmp_home: Path) -> None:
        """Events that come one to five times, shuffled, have the effect that they have once."""
        once = await told(tmp_path / "projects", tmp_home / "once", None)
        # In the same place again, because what is known of a file names its path.
        (tmp_path / "projects").rename(tmp_path / "before")
        often = await told(tmp_path / "projects", tmp_home / "often", random.Random(SEED))

        assert [] == differences(once, often), f"seed {SEED}"
