"""What onnxruntime would tell its maker is not told."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from cortex_actors.runtime.child import ENVIRONMENT

if TYPE_CHECKING:
    from pathlib import Path

#: Loads a compiled model in this process, and runs what a child sets before it imports anything.
LOADS = "from cortex_actors.embedding.compiled import _session; _session(Path('none'))"
CHILD = "import os; from cortex_actors.runtime.child import ENVIRONMENT as e; os.environ.update(e)"


@pytest.mark.parametrize("code", [LOADS, f"{CHILD}; import onnxruntime"])
def test_no_reports(tmp_path: Path, code: str) -> None:
    """Importing it makes no id of this machine and no list of events in the user's home."""
    kept = ("CI", "ORT_DISABLE_TELEMETRY", "ORT_RUNNING_UNIT_TESTS", "XDG_CACHE_HOME")
    env = {name: value for name, value in os.environ.items() if name not in {*kept, *ENVIRONMENT}}
    done = subprocess.run(
        [sys.executable, "-c", f"from pathlib import Path; {code}"],
        env={**env, "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=False,
        text=True,
    )

    assert ("EmbedderDown" in done.stderr) == (code == LOADS), done.stderr
    assert [] == [path for path in tmp_path.rglob("*") if path.is_file()]
