"""What a daemon had started does not outlive it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.kills.life import Life
from tests.process.commands import until

#: Seconds within which a child must have noticed that it has nobody to serve any more.
SOON = 5.0


class TestChildren:
    @pytest.mark.slow
    @pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked for in /proc")
    def test_end_with_a_killed_daemon(self, tmp_home: Path) -> None:
        """After kill -9 the children with the index and the model end, whatever they are at."""
        model = {"PROVIDER": "sentence-transformers", "COMPILE": "false"}
        life = Life(tmp_home, **{f"CORTEX_EMBEDDING__{key}": each for key, each in model.items()})
        for module in ("storage.index.child", "torch_child"):
            until(lambda name=module: any(name in each for each in life.left()), module)  # type: ignore[misc]
        began = time.monotonic()

        assert life.kill()
        assert life.alone() < SOON
        print(f"nothing was left after {time.monotonic() - began:.2f} s")  # noqa: T201 - the figure
