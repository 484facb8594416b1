"""Compiles the default model as the daemon does: `python -m tests.embedding.compile_once FOLDER`.

In a process of its own, because fixtures of a whole run have no loop.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from cortex_actors.clock import SystemClock
from cortex_actors.embedding.compiler import compile_model
from cortex_actors.embedding.models import locate


def main(folder: Path) -> None:
    """Fill `models/` with the compiled default model, and `extras/` with the small ones."""
    extras = folder / "extras"
    extras.mkdir(parents=True, exist_ok=True)
    os.environ["CORTEX_TEST_EXTRAS"] = str(extras)
    said: list[str] = []
    work = compile_model(
        locate("all-MiniLM-L6-v2"),
        folder / "models",
        clock=SystemClock(),
        on_line=said.append,
        child="tests.embedding.real_child",
    )
    asyncio.run(work)
    (folder / "said").write_text("\n".join(said))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
