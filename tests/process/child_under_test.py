"""A child process that does what it is asked, good or bad; started by test_child.py."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

from cortex_actors.runtime import child


def echo(params: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """Send back what came."""
    return params, body


def fail(params: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """Raise."""
    raise ValueError(params["text"])


def die(params: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """End by a signal or with an exit code."""
    if "code" in params:
        os._exit(params["code"])
    os.kill(os.getpid(), signal.Signals[params["signal"]])
    return {}, b""


def hang(params: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """Do nothing for a while."""
    time.sleep(params["seconds"])
    return {}, b""


def say(params: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """Write to stdout and stderr."""
    print(params["out"])  # noqa: T201
    print(params["err"], file=sys.stderr)  # noqa: T201
    return {}, b""


def describe(params: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """Tell about the process."""
    return {"arguments": sys.argv[1:], "mark": os.environ.get("MARK")}, b""


def grow(params: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """Answer with more than a frame may hold."""
    return {"text": "x" * params["size"]}, b""


def babble(params: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """Write what is no frame where frames belong."""
    os.write(CHANNEL.fileno(), b"\xff" * 64)
    time.sleep(60)
    return {}, b""


def hang_up(params: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """Close the channel and stay alive."""
    CHANNEL.shutdown(1)
    time.sleep(60)
    return {}, b""


if __name__ == "__main__":
    CHANNEL = child.take_socket(sys.argv)
    if "--broken" in sys.argv:
        raise ImportError("no such model")
    handlers = (echo, fail, die, hang, say, describe, grow, babble, hang_up)
    child.serve(lambda: {handler.__name__: handler for handler in handlers}, CHANNEL)
