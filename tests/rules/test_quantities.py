from __future__ import annotations

import pytest

from cortex_actors.text.claims import find_ranges
from cortex_actors.text.lexicon import find_senses, load_standard, read_wording


def _found(text: str) -> dict[str, tuple[float, float]]:
    said = read_wording(text)
    found = find_ranges(said, find_senses(said, load_standard()), lexicon=load_standard())
    return {slot: (each.least, each.most) for slot, each in found.items()}


class TestVersions:
    def test_exact(self) -> None:
        """A version stands for all its releases, and "or later" for all that come."""
        assert {"version of python": (3_011_000.0, 3_011_999.0)} == _found("Use Python 3.11")
        assert _found("Node.js 18 or newer")["version of node"][1] > 1e8

    @pytest.mark.parametrize("text", ["opencv-python >= 4.10", "ipython 8", "Python 3.10 to 3.12"])
    def test_of_something_else(self, text: str) -> None:
        """A name that only ends like a known thing, and a span of versions, give no version."""
        assert {} == _found(text)

    def test_two(self) -> None:
        """A thing with two versions is left out, but for one that the statement is against."""
        assert {} == _found("Python 3.10 here, Python 3.12 there")
        assert _found("Use Python 3.12") == _found("Use Python 3.12, not Python 3.10")


class TestPorts:
    def test_service(self) -> None:
        """A port belongs to the service that is named before it."""
        found = _found("Frontend on :3000, the backend listens on port 7007")

        assert {"port of frontend": (3000, 3000), "port of backend": (7007, 7007)} == found
