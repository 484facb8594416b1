"""A keyring that keeps everything in one file: what the real library finds where a test says so.

`PYTHON_KEYRING_BACKEND=tests.federation.filering.Keyring` chooses it, `CX_TEST_RING` names the
file.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError

#: The variables by which a process is told to use it.
BACKEND, FILE = "PYTHON_KEYRING_BACKEND", "CX_TEST_RING"

#: What chooses it.
CHOSEN = "tests.federation.filering.Keyring"


class Keyring(KeyringBackend):
    """Keeps texts in the clear, for tests."""

    priority = 9.0

    def get_password(self, service: str, username: str) -> str | None:
        """Return what is kept."""
        return _read().get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        """Keep something."""
        _write({**_read(), f"{service}/{username}": password})

    def delete_password(self, service: str, username: str) -> None:
        """Keep it no more."""
        kept = _read()
        if kept.pop(f"{service}/{username}", None) is None:
            raise PasswordDeleteError("there is none")
        _write(kept)


def _read() -> dict[str, str]:
    """Return everything."""
    path = Path(os.environ[FILE])
    found: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
    return found


def _write(kept: dict[str, str]) -> None:
    """Keep exactly this."""
    Path(os.environ[FILE]).write_text(json.dumps(kept))
