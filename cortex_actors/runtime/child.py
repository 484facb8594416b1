"""A child process that answers requests: the daemon's side of frames.py.

What may crash the interpreter or hold its lock for long lives in such a child. Its death fails
the requests that wait for it and nothing else.

Frames between the daemon and a child process, and the child's side of the conversation.

A frame is two 4-byte big-endian lengths, a JSON header and raw bytes (vectors stay float32). A
request's header is `{"id", "op", "params"}`, a reply's `{"id", "result"}` or `{"id", "error":
{"type", "text"}}`. Standard library only, and quick to import: a child must be able to say that
its heavy imports failed.

What a child process writes, line by line.

Read through a pipe of our own and not asyncio's: there `wait()` would not return while a
grandchild holds the pipe.

What a process is like that holds a model: offline, quiet, and yielding to others.

Standard library only, and quick to import: it comes before anything heavy.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeAlias

from cortex_actors.errors import BadInput, ChildProcessDown, CortexError, DeadlineExceeded

if TYPE_CHECKING:
    from asyncio.subprocess import Process

    Answer = asyncio.Future[tuple[dict[str, Any], bytes]]

#: Bytes a JSON header may have: a batch of the largest texts fits many times.
HEADER_LIMIT = 16 * 2**20

#: Bytes a body may have: 174,000 vectors of 384 numbers.
BODY_LIMIT = 256 * 2**20

#: Header and body length.
LENGTHS = struct.Struct(">II")

#: What a child's handler takes and gives: JSON values and raw bytes.
Handler: TypeAlias = Callable[[dict[str, Any], bytes], tuple[Mapping[str, object], bytes]]


def make_head(header: Mapping[str, object], body: bytes) -> bytes:
    """Return what is sent before the body; raises BadInput if a frame would be too large."""
    text = json.dumps(header, separators=(",", ":")).encode()
    _check(len(text), len(body))
    return LENGTHS.pack(len(text), len(body)) + text


def read_lengths(prefix: bytes) -> tuple[int, int]:
    """Return the header's and the body's length; raises BadInput if a frame is too large."""
    header, body = LENGTHS.unpack(prefix)
    _check(header, body)
    return header, body


def serve_model(
    holder: Callable[[str], object], ops: Sequence[str], *, arguments: Sequence[str], niceness: int
) -> NoReturn:
    """Serve as the process that holds the model in the folder `--model`, and yield to others.

    `holder` makes what has a method for each op; it imports nothing heavy before the first one.
    """
    rest = list(arguments)
    sock = take_socket(rest)
    prepare(niceness)
    held = holder(rest[rest.index("--model") + 1])
    serve({op: getattr(held, op) for op in ops}, sock)


def take_socket(arguments: list[str]) -> socket.socket:
    """Take the socket that the daemon handed over (`--fd N`) out of the child's arguments."""
    at = arguments.index("--fd")
    _, number = arguments[at : at + 2]
    del arguments[at : at + 2]
    return socket.socket(fileno=int(number))


def serve(
    handlers: Mapping[str, Handler] | Callable[[], Mapping[str, Handler]], sock: socket.socket
) -> NoReturn:
    """Answer requests on this thread, one after another, until the daemon's end closes.

    Then the process ends at once, whatever it is doing. `handlers` may be a function that loads
    them: it is called here, with the end of the daemon already watched; requests wait meanwhile.
    An exception of a handler goes to its asker. Ctrl-C is ignored, because it reaches the
    whole foreground process group and the daemon decides when its children end.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What a child writes lies in the home, also where no daemon with a umask of its own began it.
    os.umask(0o077)
    sock.set_inheritable(False)
    requests: SimpleQueue[tuple[dict[str, Any], bytes]] = SimpleQueue()
    threading.Thread(target=_read, args=(sock, requests), name="frames", daemon=True).start()
    table = handlers() if callable(handlers) else handlers
    while True:
        request, body = requests.get()
        _answer(table, sock, request, body)


def _answer(
    table: Mapping[str, Handler], sock: socket.socket, request: dict[str, Any], body: bytes
) -> None:
    try:
        handler = table.get(request["op"], _unknown)
        result, blob = handler(request.get("params") or {}, body)
        reply = make_head({"id": request["id"], "result": result}, blob)
    except Exception as error:  # noqa: BLE001  # it belongs to the asker
        what = {"type": type(error).__name__, "text": str(error)}
        reply, blob = make_head({"id": request.get("id"), "error": what}, b""), b""
    with suppress(OSError):  # the daemon is gone; the reading thread ends the process
        sock.sendall(reply)
        sock.sendall(blob)


def _unknown(_params: dict[str, Any], _body: bytes) -> NoReturn:
    raise BadInput("this child does not know the op; parent and child are of different versions")


def _read(sock: socket.socket, requests: SimpleQueue[tuple[dict[str, Any], bytes]]) -> None:
    status = 0
    try:
        while True:
            header, body = read_lengths(_receive(sock, LENGTHS.size))
            text = _receive(sock, header)
            requests.put((json.loads(text), _receive(sock, body)))
    except (EOFError, OSError):
        pass
    except BaseException:
        status = 1
        raise
    finally:
        os._exit(status)


def _receive(sock: socket.socket, count: int) -> bytes:
    buffer = bytearray(count)
    view = memoryview(buffer)
    while view:
        got = sock.recv_into(view)
        if got == 0:
            raise EOFError
        view = view[got:]
    return bytes(buffer)


def _check(header: int, body: int) -> None:
    if header > HEADER_LIMIT or body > BODY_LIMIT:
        raise BadInput(
            f"a frame of {header} + {body} bytes passes the limit of {HEADER_LIMIT} + "
            f"{BODY_LIMIT}; send it in parts"
        )


#: Bytes of a line that are passed on; a longer one is passed on in pieces.
LINE_LIMIT = 16 * 1024

#: Bytes read at a time.
CHUNK = 64 * 1024


async def relay(on_line: Callable[[str], None], name: str) -> tuple[int, asyncio.Task[None]]:
    """Make a pipe and give each line written to it to a callback.

    Returns the end to write to, which the caller closes, and the task that reads.

    A callback that raises is reported to the loop's exception handler, and the pipe read on: a
    full pipe would stop the child.
    """
    source, sink = os.pipe()
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    pipe = os.fdopen(source, "rb", buffering=0)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    task = asyncio.create_task(_read_lines(reader, transport, on_line), name=f"output of {name}")
    return sink, task


async def _read_lines(
    reader: asyncio.StreamReader, transport: asyncio.ReadTransport, on_line: Callable[[str], None]
) -> None:
    rest = b""
    try:
        while chunk := await reader.read(CHUNK):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                _pass_on(line, on_line)
            if len(rest) >= LINE_LIMIT:
                _pass_on(rest, on_line)
                rest = b""
        if rest:
            _pass_on(rest, on_line)
    finally:
        transport.close()


def _pass_on(line: bytes, on_line: Callable[[str], None]) -> None:
    for start in range(0, len(line) or 1, LINE_LIMIT):
        piece = line[start : start + LINE_LIMIT].decode(errors="replace")
        try:
            on_line(piece.rstrip("\r"))
        except Exception as error:  # noqa: BLE001  # the pipe must be read on
            report = {"message": "a line of a child was not passed on", "exception": error}
            asyncio.get_running_loop().call_exception_handler(report)


#: Seconds loading a model may take: 6 on a quiet machine, many times that on a cold, slow or busy
#: one.
LOAD_TIMEOUT = 300.0

#: Seconds a child has to end once its socket is closed.
STOP_TIMEOUT = 2.0

#: Seconds in which a child that has hung up must be gone, and its last words be read.
GRACE = 1.0


class ChildHandlerError(CortexError):
    """A child's handler raised; `kind` is the name of the exception's class."""

    def __init__(self, message: str, kind: str) -> None:
        super().__init__(message)
        self.kind = kind

    @property
    def is_not_installed(self) -> bool:
        """Whether a library is missing."""
        return self.kind in {"ImportError", "ModuleNotFoundError"}


class ChildProcess:
    """One running child. Requests may overlap; the child answers them one after another.

    When the child ends, whatever the cause, every waiting request gets ChildProcessDown with
    its exit code or the name of the signal; a request may then have taken effect.
    """

    def __init__(
        self,
        name: str,
        process: Process,
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        output: asyncio.Task[None] | None,
    ) -> None:
        self.name = name
        self._process = process
        self._reader, self._writer = streams
        self._output = output
        self._ids = itertools.count(1)
        self._waiting: dict[int, Answer] = {}
        self._killed = False
        self._reason: object = None
        self._life = asyncio.create_task(self._attend(), name=f"child {name}")

    @classmethod
    async def spawn(
        cls,
        module: str | Sequence[str],
        args: Sequence[str] = (),
        *,
        name: str,
        on_line: Callable[[str], None] | None = None,
    ) -> Self:
        """Start `python -m module --fd N *args` (or other interpreter arguments).

        `on_line` is given each line that the child
        writes to stdout or stderr; without it the child writes where this process does. Returns
        before the child has loaded anything. A cancelled start leaves nothing behind.
        """
        spawning = asyncio.ensure_future(cls._spawn(module, args, name=name, on_line=on_line))
        try:
            return await asyncio.shield(spawning)
        except asyncio.CancelledError:
            # Half a start cannot be taken back: it is finished, and then ended.
            await asyncio.wait({spawning})
            if not spawning.cancelled() and spawning.exception() is None:
                spawning.result().kill()
                await spawning.result().exited()
            raise

    @classmethod
    async def _spawn(
        cls,
        module: str | Sequence[str],
        args: Sequence[str],
        *,
        name: str,
        on_line: Callable[[str], None] | None,
    ) -> Self:
        """Start the interpreter (unbuffered, a stack on stderr for a crash), and connect to it."""
        how = ("-m", module) if isinstance(module, str) else module
        with ExitStack() as on_failure:
            ours, theirs = socket.socketpair()
            on_failure.callback(ours.close)
            with theirs, ExitStack() as once_started:
                sink = output = None
                if on_line:
                    sink, output = await relay(on_line, name)
                    on_failure.callback(output.cancel)
                    once_started.callback(os.close, sink)
                words = (*how, "--fd", str(theirs.fileno()), *args)
                process = await start_python(words, theirs, sink=sink)
            on_failure.callback(_end, process)
            # Bytes read ahead from a child before it has to wait.
            streams = await asyncio.open_connection(sock=ours, limit=2**20)
            on_failure.pop_all()
        return cls(name, process, streams, output)

    @property
    def pid(self) -> int:
        """Return the child's process id."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """Return the exit code once it has ended: of a signal its number, negative."""
        return self._process.returncode

    async def request(
        self,
        op: str,
        params: Mapping[str, object] | None = None,
        body: bytes = b"",
        *,
        deadline: float,
    ) -> tuple[dict[str, Any], bytes]:
        """Have the child run an op, and return its JSON answer and bytes.

        Raises DeadlineExceeded after `deadline` seconds (the child goes on with it),
        ChildProcessDown, ChildError for an exception of the child's handler, and BadInput for a
        frame over the limit.
        """
        if self._life.done() or self._reason is not None:
            raise self._down()
        number = next(self._ids)
        head = make_head({"id": number, "op": op, "params": params or {}}, body)
        answer: Answer = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            async with asyncio.timeout(deadline) as limit:
                with suppress(ConnectionError):  # the child has ended: the answer will say how
                    self._writer.write(head)
                    if body:
                        self._writer.write(body)
                    await self._writer.drain()
                return await answer
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise DeadlineExceeded(
                f"{self.name} did not answer {op!r} within {deadline} s; it may still be at it"
            ) from error
        finally:
            self._waiting.pop(number, None)

    async def stop(self, timeout: float | None = STOP_TIMEOUT) -> None:
        """Close our end, which ends the child, and wait until it has; kill it after `timeout` s."""
        with suppress(OSError):
            if not self._writer.is_closing():
                self._writer.write_eof()
        await asyncio.wait({self._life}, timeout=timeout)
        if not self._life.done():
            self.kill()
        await asyncio.shield(self._life)

    def kill(self) -> None:
        """End the child now; `exited` then gives "killed"."""
        if self._process.returncode is None:
            self._killed = True
            _end(self._process)

    async def exited(self) -> object:
        """Wait for the child's end: "normal" (exit code 0), "killed" or a ChildProcessDown."""
        await asyncio.shield(self._life)
        return self._reason

    async def _attend(self) -> None:
        """Read answers until the child has ended, then release everything it had."""
        reading = asyncio.create_task(self._read_answers(), name=f"answers of {self.name}")
        ending = asyncio.create_task(self._process.wait(), name=f"end of {self.name}")
        try:
            await asyncio.wait({reading, ending}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({ending}, timeout=GRACE)
            if not ending.done():
                _end(self._process)
            await ending
            await asyncio.wait({reading}, timeout=GRACE)
        finally:
            _end(self._process)
            ended = self._down() if self._process.returncode else "normal"
            self._reason = "killed" if self._killed else ended
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(self._down())
            for task in (reading, ending):
                task.cancel()
            self._writer.close()
        if self._output is not None:
            await asyncio.wait({self._output}, timeout=GRACE)
            self._output.cancel()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _read_answers(self) -> None:
        try:
            while True:
                prefix = await self._reader.readexactly(LENGTHS.size)
                header, body = read_lengths(prefix)
                reply = json.loads(await self._reader.readexactly(header))
                data = await self._reader.readexactly(body)
                answer = self._waiting.get(reply["id"])
                if answer is None or answer.done():  # its asker has gone
                    continue
                if (error := reply.get("error")) is None:
                    answer.set_result((reply["result"], data))
                else:
                    text = f"{self.name} failed: {error['type']}: {error['text']}"
                    answer.set_exception(ChildHandlerError(text, error["type"]))
        except (asyncio.IncompleteReadError, OSError):
            return
        except (BadInput, ValueError, KeyError, TypeError):  # this is no frame: nothing that
            _end(self._process)  # follows can be read

    def _down(self) -> ChildProcessDown:
        code = self._process.returncode
        how = "of an unknown cause" if code is None else f"with exit code {code}"
        if code is not None and code < 0:
            with suppress(ValueError):
                how = f"by {signal.Signals(-code).name}"
        return ChildProcessDown(
            f"{self.name} (process {self.pid}) ended {how}; ask again once it has been restarted"
        )


async def start_python(words: Sequence[str], handed: socket.socket, *, sink: int | None) -> Process:
    """Start an interpreter that has a socket of ours, and writes into `sink`."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-u", "-X", "faulthandler", *words),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=sink,
        stderr=sink,
        pass_fds=(handed.fileno(),),
        # A group of its own, so that Ctrl-C does not reach it before it can ignore it.
        process_group=0,
    )


def _end(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()


#: Set before anything heavy is imported: no network, no threads of the tokeniser, no bars.
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TQDM_DISABLE": "1",
    # From 1.29 on onnxruntime reports to its maker as soon as it is imported, unless this is set.
    "ORT_DISABLE_TELEMETRY": "1",
    # Waiting threads sleep and do not spin: beside one other busy process on two cores that ran 1.7
    # times as fast, and spinning at its worst took half a second for a text; alone it costs 3 ms.
    "OMP_WAIT_POLICY": "PASSIVE",
}

#: How much such a process yields to others: loading takes every core for seconds, in which a person
#: works on the machine and `cortex status` is to answer.
NICENESS = 5


def prepare(niceness: int = NICENESS) -> None:
    """Make this process such a one; what a library prints goes to standard error from now on."""
    os.environ.update(ENVIRONMENT)
    os.nice(niceness)
    os.dup2(2, 1)


def count_cores() -> int:
    """Return the cores this process may use: fewer than the machine's in a container."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
