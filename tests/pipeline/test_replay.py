"""Whatever happened on the way, a ledger says what files say, and what they once said counts."""

from __future__ import annotations

import os
import random
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.pipeline.replay import (
    Revision,
    committed,
    done,
    evidence,
    expected,
    ingest,
    invented,
    replay,
    state,
)
from tests.pipeline.support import Embedder, Office, opened
from tests.pipeline.test_reconciler import reconciler

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

#: The seed of a run; CORTEX_REPLAY_SEED repeats one.
SEED = int(os.environ.get("CORTEX_REPLAY_SEED") or random.SystemRandom().randrange(10**6))

#: Real histories that are replayed in a run: the shortest; all of them take minutes.
REAL = 1


async def differences(folder: Path, history: Sequence[Revision], seed: int) -> list[str]:
    """Return in what a replayed history differs from the last revisions alone."""
    embed = Embedder()
    async with opened(folder / "one") as office, opened(folder / "other") as other:
        project = await office.follow(folder / "atlas")
        for each in (office, other):
            await each.employ("reconciler", partial(reconciler, each))
        await replay(office, project, history, embed, seed)
        await other.follow(folder / "atlas")
        await ingest(other, project, history, embed)
        for each in (office, other):
            await done(each, "reconciler")
        await embed.close()
        found = await _compared(office, other)
        if expected(project, history) != await evidence(office):
            found.append("what was observed is not what the revisions say")
        return found


async def _compared(office: Office, other: Office) -> list[str]:
    """Return the rows that only one of two ledgers has."""
    one, two = await state(office), await state(other)
    return [
        f"{name}: only {which} has {row}"
        for name in one
        for which, rows in (
            ("the replayed", set(one[name]) - set(two[name])),
            ("the fresh", set(two[name]) - set(one[name])),
        )
        for row in sorted(rows)
    ]


class TestInvented:
    @pytest.mark.slow
    async def test_kills(self, tmp_path: Path) -> None:
        """Any history with any kills ends as its last revisions do, and every revision counts."""
        history = invented(SEED, files=4, revisions=25)

        assert [] == await differences(tmp_path, history, SEED), f"seed {SEED}"

    @pytest.mark.soak
    @pytest.mark.parametrize("round_", range(20))
    async def test_many(self, tmp_path: Path, round_: int) -> None:
        """Longer histories end so, too."""
        seed = SEED + round_
        history = invented(seed, files=4, revisions=60)

        assert [] == await differences(tmp_path, history, seed), f"seed {seed}"


class TestCommitted:
    @pytest.mark.slow
    async def test_share(self, tmp_path: Path) -> None:
        """What people committed ends so (the shortest histories of the data)."""
        await _all_end_well(tmp_path, REAL)

    @pytest.mark.soak
    async def test_all(self, tmp_path: Path) -> None:
        """Every history of the data ends so."""
        await _all_end_well(tmp_path, None)


async def _all_end_well(folder: Path, files: int | None) -> None:
    """Replay committed histories, or none where there is no data."""
    histories = committed(files=files)
    if not histories and not os.environ.get("CORTEX_TEST_DATA"):
        pytest.skip("CORTEX_TEST_DATA names no folder with history.tar.xz")
    for name, history in histories.items():
        found = await differences(folder / name, history, SEED)
        assert [] == found, f"{name}, seed {SEED}: {found[:5]}"
