from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from cortex_actors.errors import BadInput
from cortex_actors.runtime import child

ROOT = Path(__file__).parents[2]


class TestHead:
    def test_lengths(self) -> None:
        """A frame begins with the lengths of its header and of its body."""
        head = child.make_head({"id": 1}, b"xyz")

        assert (8, 3) == child.read_lengths(head[:8])
        assert b'{"id":1}' == head[8:]

    def test_limits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A frame over a limit is refused when it is made and when it comes."""
        monkeypatch.setattr(child, "HEADER_LIMIT", 7)
        with pytest.raises(BadInput, match=r"8 \+ 0 bytes passes the limit of 7"):
            child.make_head({"id": 1}, b"")
        with pytest.raises(BadInput, match="send it in parts"):
            child.read_lengths(child.LENGTHS.pack(0, child.BODY_LIMIT + 1))


class TestInherited:
    def test_takes_the_channel(self) -> None:
        """The channel is taken out of the arguments, wherever it stands."""
        ours, theirs = socket.socketpair()
        arguments = ["child", "--fd", str(theirs.detach()), "--path", "x"]
        with ours, child.take_socket(arguments) as channel:
            channel.sendall(b"hello")

            assert b"hello" == ours.recv(5)
            assert ["child", "--path", "x"] == arguments


@pytest.mark.slow
class TestImport:
    def test_light(self) -> None:
        """A child that imports the frames has imported the standard library and our errors."""
        program = (
            "import sys; from cortex_actors.runtime import child; "
            "print(*{name.partition('.')[0] for name in sys.modules} - sys.stdlib_module_names)"
        )
        run = subprocess.run(
            [sys.executable, "-S", "-c", program],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )

        assert {"cortex_actors", "__main__"} >= set(run.stdout.split())
        assert "asyncio" not in run.stdout
