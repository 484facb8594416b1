"""The daemon of a later version, which migrates ledgers of this one (`tests/storage/later.py`).

`python later_daemon.py FOLDER run`: the folder takes the later version's migrations.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cortex_actors.cli.entry import main
from tests.storage.later import become_later

if __name__ == "__main__":
    become_later(Path(sys.argv.pop(1)))
    sys.exit(main())
