from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from cortex_actors.errors import BadInput, ChildProcessDown, DeadlineExceeded
from cortex_actors.runtime import child as frames
from cortex_actors.runtime.child import ChildHandlerError, ChildProcess
from tests.process.children import ROOT, SCRIPT, SOON, running


def open_files() -> int:
    """Return how many file descriptors this process has."""
    return len(list(Path("/dev/fd").iterdir()))


class TestRequest:
    async def test_echo(self) -> None:
        """JSON and raw bytes go to the child and come back."""
        async with running() as child:
            answer = await child.request("echo", {"text": "ä"}, b"\x00\xff" * 9, deadline=SOON)

        assert ({"text": "ä"}, b"\x00\xff" * 9) == answer

    async def test_large(self) -> None:
        """A body of many megabytes passes."""
        body = os.urandom(2**20) * 20
        async with running() as child:
            _, back = await child.request("echo", body=body, deadline=SOON)

        assert body == back

    async def test_overlapping(self) -> None:
        """Requests that overlap each get their own answer."""
        async with running() as child:
            answers = await asyncio.gather(
                *(child.request("echo", {"n": n}, bytes([n]), deadline=SOON) for n in range(100))
            )

        assert [({"n": n}, bytes([n])) for n in range(100)] == answers

    async def test_fails(self) -> None:
        """An exception in the child reaches the asker with its type, and the child lives."""
        async with running() as child:
            with pytest.raises(
                ChildHandlerError, match="test child failed: ValueError: bad"
            ) as caught:
                await child.request("fail", {"text": "bad"}, deadline=SOON)
            answer, _ = await child.request("echo", {"n": 1}, deadline=SOON)

        assert "ValueError" == caught.value.kind
        assert {"n": 1} == answer

    async def test_unknown(self) -> None:
        """An op that the child does not know is an error of the asker's."""
        async with running() as child:
            with pytest.raises(ChildHandlerError, match="does not know the op"):
                await child.request("no-such-op", deadline=SOON)

    async def test_deadline(self) -> None:
        """A request that is not answered in time raises with op and child; the child lives."""
        async with running() as child:
            await child.request("echo", deadline=SOON)
            with pytest.raises(DeadlineExceeded, match="test child did not answer 'hang'"):
                await child.request("hang", {"seconds": 0.2}, deadline=0.05)
            answer, _ = await child.request("echo", {"n": 1}, deadline=SOON)

        assert {"n": 1} == answer

    async def test_too_large(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A frame over the limit is refused with its size, on either side."""
        async with running() as child:
            with pytest.raises(ChildHandlerError, match="passes the limit"):
                await child.request("grow", {"size": frames.HEADER_LIMIT}, deadline=SOON)
            monkeypatch.setattr(frames, "BODY_LIMIT", 10)
            with pytest.raises(BadInput, match="11 bytes passes the limit"):
                await child.request("echo", body=b"x" * 11, deadline=SOON)
            answer, _ = await child.request("echo", {"n": 1}, deadline=SOON)

        assert {"n": 1} == answer

    async def test_arguments(self) -> None:
        """The child has its arguments without the channel, and the environment it was given."""
        async with running("--path", "x") as child:
            answer, _ = await child.request("describe", deadline=SOON)

        assert {"arguments": ["--path", "x"], "mark": "here"} == answer


class TestDeath:
    @pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGABRT"])
    async def test_signal(self, name: str) -> None:
        """A child that dies by a signal fails every waiting request with the signal's name."""
        lines: list[str] = []
        async with running(on_line=lines.append) as child:
            waiting = [
                asyncio.ensure_future(child.request("die", {"signal": name}, deadline=SOON)),
                asyncio.ensure_future(child.request("echo", deadline=SOON)),
            ]
            for request in waiting:
                with pytest.raises(ChildProcessDown, match=f"test child .* ended by {name}"):
                    await request
            reason = await child.exited()

        assert isinstance(reason, ChildProcessDown)
        assert (name == "SIGKILL") == (lines == [])

    async def test_exit_code(self) -> None:
        """A child that exits fails every waiting request, and every later one, with its code."""
        async with running() as child:
            for _ in range(2):
                with pytest.raises(ChildProcessDown, match="with exit code 3"):
                    await child.request("die", {"code": 3}, deadline=SOON)
                await child.exited()

    async def test_cannot_start(self) -> None:
        """A child that fails before it serves says why and fails the requests that wait."""
        lines: list[str] = []
        async with running("--broken", on_line=lines.append) as child:
            with pytest.raises(ChildProcessDown, match="with exit code 1"):
                await child.request("echo", deadline=SOON)
            await child.exited()

        assert "ImportError: no such model" == lines[-1]

    @pytest.mark.parametrize("op", ["babble", "hang_up"])
    async def test_unusable(self, op: str) -> None:
        """A child that talks nonsense, or no more, is ended and its requests fail."""
        async with running() as child:
            with pytest.raises(ChildProcessDown, match="by SIGKILL"):
                await child.request(op, deadline=SOON)

    async def test_kill(self) -> None:
        """A kill ends the child at once, and its end is called "killed"."""
        async with running() as child:
            request = asyncio.ensure_future(child.request("hang", {"seconds": 60}, deadline=SOON))
            await asyncio.sleep(0.05)
            child.kill()
            with pytest.raises(ChildProcessDown):
                await request
            reason = await child.exited()

        assert "killed" == reason


class TestEnd:
    async def test_stop(self) -> None:
        """A child whose daemon closes the channel ends at once and normally."""
        async with running() as child:
            await child.request("echo", deadline=SOON)
            async with asyncio.timeout(5):
                await child.stop(None)

            assert "normal" == await child.exited()
            with pytest.raises(ChildProcessDown):
                await child.request("echo", deadline=SOON)
            await child.stop(1.0)

    async def test_busy(self) -> None:
        """A child that is at work ends too when the channel closes."""
        async with running() as child:
            await child.request("echo", deadline=SOON)
            request = asyncio.ensure_future(child.request("hang", {"seconds": 60}, deadline=SOON))
            await asyncio.sleep(0.05)
            async with asyncio.timeout(5):
                await child.stop(None)
            with pytest.raises(ChildProcessDown):
                await request

            assert "normal" == await child.exited()

    async def test_stopped_child(self) -> None:
        """A child that does not end in time is killed."""
        async with running() as child:
            await child.request("echo", deadline=SOON)
            os.kill(child.pid, signal.SIGSTOP)
            await asyncio.to_thread(os.waitid, os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
            await child.stop(0.1)

            assert "killed" == await child.exited()

    async def test_interrupt(self) -> None:
        """Ctrl-C does not end a child: the daemon decides when it ends."""
        async with running() as child:
            await child.request("echo", deadline=SOON)
            os.kill(child.pid, signal.SIGINT)
            answer, _ = await child.request("echo", {"n": 1}, deadline=SOON)

            assert {"n": 1} == answer
            assert os.getpgid(child.pid) != os.getpgid(0)

    async def test_daemon_killed(self) -> None:
        """A child ends when its daemon is killed."""
        program = (
            "import asyncio\n"
            "from cortex_actors.runtime.child import ChildProcess\n"
            "async def main():\n"
            f"    child = await ChildProcess.spawn([{SCRIPT!r}], name='orphan')\n"
            "    await child.request('echo', deadline=20)\n"
            "    print(child.pid, flush=True)\n"
            "    await child.request('hang', {'seconds': 60}, deadline=60)\n"
            "asyncio.run(main())\n"
        )
        daemon = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            program,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert daemon.stdout is not None
        orphan = int(await daemon.stdout.readline())
        daemon.kill()
        await daemon.wait()
        async with asyncio.timeout(5):
            while _alive(orphan):
                await asyncio.sleep(0.01)

    async def test_nothing_is_left(self) -> None:
        """No file descriptor, task or zombie is left, however a child ended."""
        async with running(on_line=_ignore) as child:
            await child.request("echo", deadline=SOON)
        files, tasks = open_files(), len(asyncio.all_tasks())
        pids = []
        for way in ("stop", "die", "kill"):
            async with running(on_line=_ignore) as child:
                pids.append(child.pid)
                if way == "die":
                    with pytest.raises(ChildProcessDown):
                        await child.request("die", {"code": 3}, deadline=SOON)
                elif way == "kill":
                    child.kill()

        assert files == open_files()
        assert tasks == len(asyncio.all_tasks())
        for pid in pids:
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)

    async def test_cannot_spawn(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A child that cannot even be started leaves no file descriptor behind."""
        files = open_files()
        monkeypatch.setattr(sys, "executable", "/no/such/python")
        with pytest.raises(FileNotFoundError):
            await ChildProcess.spawn("module", name="none", on_line=_ignore)
        await asyncio.sleep(0.05)

        assert files == open_files()


def _ignore(_line: str) -> None:
    """Take a line."""


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    path = Path(f"/proc/{pid}/stat")
    # An orphan whose new parent does not collect it stays as a zombie.
    return not path.exists() or path.read_text().rpartition(")")[2].split()[0] != "Z"
