"""What a person sees of a failure deep in the tree: each level that it came through."""

from __future__ import annotations

import pytest

from tests.process.commands import PATIENCE, Commands

pytestmark = pytest.mark.slow


class TestStart:
    def test_names_every_level(self, cortex: Commands) -> None:
        """A daemon whose leaf does not start ends with an error that names the way up to the top.

        Row: otp faulty_application_shutdown
        """
        daemon = cortex.fake("bad-leaf")
        _, err = daemon.communicate(timeout=PATIENCE)

        assert 0 != daemon.returncode
        places = [err.splitlines()[-1].find(word) for word in ("'top'", "'branch'", "'leaf'")]
        assert -1 < places[0] < places[1] < places[2]
        assert "no such disk" in err
