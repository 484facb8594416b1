"""What a process is like that holds a model: offline, quiet, and yielding to others.

Standard library only, and quick to import: it comes before anything heavy.
"""

from __future__ import annotations

import os

#: Set before anything heavy is imported: no network, no threads of the tokeniser, no bars.
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TQDM_DISABLE": "1",
    # Waiting threads sleep and do not spin: beside one other busy process on two cores that ran 1.7
    # times as fast, and spinning at its worst took half a second for a text; alone it costs 3 ms.
    "OMP_WAIT_POLICY": "PASSIVE",
}

#: How much such a process yields to others: loading takes every core for seconds, in which somebody
#: works on the machine and `cortex status` is to answer.
NICENESS = 5


def prepare(niceness: int = NICENESS) -> None:
    """Make this process such a one; what a library prints goes to standard error from now on."""
    os.environ.update(ENVIRONMENT)
    os.nice(niceness)
    os.dup2(2, 1)


def cores() -> int:
    """Return the cores this process may use: fewer than the machine's in a container."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
