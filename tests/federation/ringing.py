"""A keyring in memory, which can be made to hang or to fail."""

from __future__ import annotations

import threading

#: A token that must not appear anywhere.
TOKEN = "tok-4f0c9b21"


class Ring:
    """A keyring in memory; while its `gate` is closed it answers nobody."""

    priority = 5.0

    def __init__(self) -> None:
        """Begin empty and open."""
        self.kept: dict[tuple[str, str], str] = {}
        self.gate = threading.Event()
        self.gate.set()
        self.asked = 0
        self.broken = False

    def get_password(self, service: str, username: str, /) -> str | None:
        """Return what is kept."""
        self._wait()
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str, /) -> None:
        """Keep something."""
        self._wait()
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str, /) -> None:
        """Keep it no more."""
        self._wait()
        del self.kept[service, username]

    def _wait(self) -> None:
        self.asked += 1
        self.gate.wait()
        if self.broken:
            raise RuntimeError(f"locked; it would be {TOKEN}")
