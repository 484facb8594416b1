"""A child without a model that does what its texts say: run by tests as the embedder's process."""

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


def load(params: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """Do what the folder's file `behaviour` says."""
    behaviour = (Path(sys.argv[-1]) / "behaviour").read_text()
    if behaviour == "no library":
        raise ModuleNotFoundError("No module named 'sentence_transformers'")
    if behaviour == "broken":
        raise OSError("weights cannot be read")
    return {"dimension": int(behaviour), "max_tokens": 9, "seconds": 0.0}, b""


def embed(params: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """Give every text the same vector, or do what the first one says."""
    texts = json.loads(body)
    match texts[0]:
        case "die":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "hang":
            threading.Event().wait()
        case "type":
            raise TypeError("not a text")
        case "memory":
            raise MemoryError("too much")
        case "nan":
            return {"dimension": 2, "tokens": 0, "split": 0}, struct.pack("<2f", float("nan"), 1.0)
        case "few":
            return {"dimension": 2, "tokens": 0, "split": 0}, b""
    rows = struct.pack("<2f", 3.0, 4.0) * len(texts)
    split = sum(len(text) > 9 for text in texts)
    return {"dimension": 2, "tokens": sum(map(len, texts)), "split": split}, rows


if __name__ == "__main__":
    child.serve({"load": load, "embed": embed}, child.take_socket(sys.argv))
