"""Does what a start does with a ledger before it is opened; run under strace."""

from __future__ import annotations

import sys
from pathlib import Path

from cortex_actors.clock import SystemClock
from cortex_actors.errors import LedgerDown
from cortex_actors.home import Home
from cortex_actors.storage.ledger import recovery

if __name__ == "__main__":
    try:
        recovery.make_ready(Home(Path(sys.argv[1])), SystemClock())
    except LedgerDown as error:
        sys.stdout.write(f"{type(error).__name__}: {error}")
    else:
        sys.stdout.write("good")
