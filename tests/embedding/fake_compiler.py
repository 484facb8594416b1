"""A child that compiles nothing and does what the model's folder says: run in place of torch's."""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
from pathlib import Path
from typing import Any, NoReturn

from cortex_actors.embedding.calibration import explain_disk
from cortex_actors.embedding.manifest import ONNX
from cortex_actors.errors import NotCompilable
from cortex_actors.runtime import child
from tests.embedding.compiling import FACTS, fill


def compile_(params: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """Do what the file `behaviour` says, and count the call in `calls`."""
    source, bench = Path(sys.argv[-1]), Path(params["folder"])
    with (source / "calls").open("a") as calls:
        calls.write("x")
    print("a library's warning\ncompile: half way", file=sys.stderr, flush=True)  # noqa: T201
    behaviour = (source / "behaviour").read_text()
    _STRANGE.get(behaviour, _good)(source, bench)
    fill(bench)
    return {**FACTS, "dimension": 3 if behaviour == "other width" else 2}, b""


def _good(_source: Path, _bench: Path) -> None:
    """Do what is asked."""


def _hang(source: Path, bench: Path) -> NoReturn:
    """Write half of a model, hold the pipe `alive`, and never end."""
    (bench / ONNX).write_bytes(b"half a gr")
    with (source / "alive").open("w"):
        threading.Event().wait()
    raise AssertionError


def _die(_source: Path, bench: Path) -> None:
    (bench / ONNX).write_bytes(b"half a gr")
    os.kill(os.getpid(), signal.SIGKILL)


def _refuse(_source: Path, _bench: Path) -> NoReturn:
    raise NotCompilable("its modules LSTM are not among Transformer")


def _fail(_source: Path, _bench: Path) -> NoReturn:
    raise RuntimeError("the weights cannot be read")


def _full(_source: Path, bench: Path) -> None:
    """Write into files that the system does not let grow, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
    with explain_disk(bench.parent):
        (bench / ONNX).write_bytes(b"many" * 100)


_STRANGE = {"hang": _hang, "die": _die, "refuse": _refuse, "fail": _fail, "full": _full}

if __name__ == "__main__":
    child.serve({"compile": compile_}, child.take_socket(sys.argv))
