"""A child without a model that does what its texts say: run by tests as the entailment model's."""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
import threading
from pathlib import Path
from typing import Any

from cortex_actors.runtime import child

#: Probabilities of entailment, neutral and contradiction, by how the second text begins.
ROWS = {"same": (0.9, 0.05, 0.05), "not": (0.05, 0.05, 0.9)}
NEITHER = (0.3, 0.4, 0.3)


def load(params: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """Do what the folder's file `behaviour` says."""
    behaviour = (Path(sys.argv[-1]) / "behaviour").read_text()
    if behaviour == "no library":
        raise ModuleNotFoundError("No module named 'sentence_transformers'")
    if behaviour == "broken":
        raise OSError("weights cannot be read")
    return {"outputs": int(behaviour), "seconds": 0.0}, b""


def score(params: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """Score each pair by the first word of its second text, or do what the first one says."""
    pairs = json.loads(body)
    match pairs[0][0]:
        case "die":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "hang":
            threading.Event().wait()
        case "memory":
            raise MemoryError("too much")
        case "nan":
            return {"outputs": 3, "cut": []}, struct.pack("<6f", *[float("nan")] * 6)
        case "few":
            return {"outputs": 3, "cut": []}, struct.pack("<3f", *NEITHER)
    rows = [each for _, other in pairs for each in ROWS.get(other.split()[0], NEITHER)]
    cut = [at for at, (one, _) in enumerate(pairs) if one.startswith("long")]
    return {"outputs": 3, "cut": cut}, struct.pack(f"<{len(rows)}f", *rows)


if __name__ == "__main__":
    child.serve({"load": load, "score": score}, child.take_socket(sys.argv))
