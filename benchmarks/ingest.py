"""How long instruction files take until they are learned, embedded and indexed; and a recall.

`--data DIR` takes every folder in it as a project (default: the samples). `--provider hashing`
leaves the model out, which shows what everything else costs.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors.testing import eventually, settled, temporary_cortex

if TYPE_CHECKING:
    from cortex_actors.tree import Tree

#: Questions asked at the end, a few times each.
QUESTIONS = ("How do I run the tests?", "tabs or spaces", "commit message format")

#: Seconds until everything must be settled.
LIMIT = 900.0


async def measure(folders: list[Path], provider: str) -> None:
    """Learn the projects and print what it took."""
    async with temporary_cortex(embedding={"provider": provider}) as tree:
        await eventually(partial(_is, tree, "ready"), within=LIMIT)
        begun = time.perf_counter()
        for folder in folders:
            await tree.cortex.add_project(str(folder))
        # Watchers start in the background: wait until the first file was read.
        await eventually(partial(_knows, tree), within=LIMIT)
        await settled(tree, within=LIMIT)
        took = time.perf_counter() - begun
        status = await tree.cortex.status()
        files = sum(each["files"] for each in (await tree.cortex.projects())["projects"])
        recalls = [(await tree.cortex.recall(each))["took_ms"] for each in QUESTIONS * 5]
        print(f"{files} files, {status['insights']} insights, {provider}: {took:.2f} s")
        print(f"  {files / took:.1f} files/s, {status['insights'] / took:.1f} insights/s")
        print(f"  recall: median {statistics.median(recalls):.1f} ms, max {max(recalls):.1f} ms")


async def _is(tree: Tree, state: str) -> bool:
    """Tell whether the model is in that state."""
    return bool((await tree.cortex.status())["model"]["state"] == state)


async def _knows(tree: Tree) -> bool:
    """Tell whether anything was learned."""
    return bool((await tree.cortex.status()).get("insights"))


def main() -> int:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    samples = Path(__file__).parent.parent / "data" / "projects"
    parser.add_argument("--data", type=Path, default=samples)
    parser.add_argument("--provider", default="sentence-transformers")
    options = parser.parse_args()
    folders = sorted(path for path in options.data.iterdir() if path.is_dir())
    asyncio.run(measure(folders, options.provider))
    return 0


if __name__ == "__main__":
    sys.exit(main())
