"""The library against a daemon: what it gives, and what it survives."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from typing import TYPE_CHECKING

import pytest

from cortex_actors import AsyncCortex, Cortex, CortexError
from cortex_actors.client.connection import Client
from cortex_actors.client.doors import AsyncClient
from cortex_actors.client.operations import list_methods, load_snapshot
from cortex_actors.errors import (
    AlreadyRunning,
    BadInput,
    BadToken,
    DaemonDown,
    DeadlineExceeded,
    NotFound,
    NotYours,
)
from cortex_actors.home import Home
from tests.process.commands import kill

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.commands import Commands

#: Methods that ask and need no parameters.
QUESTIONS = sorted(
    name
    for name, verb in list_methods().items()
    if load_snapshot()[verb]["http"].startswith("GET ")
    and verb != "resolve_preview"  # it needs one of its own
    and not any(each["required"] for each in load_snapshot()[verb]["parameters"])
)


class TestOperations:
    def test_memory(self, cortex: Cortex) -> None:
        """What was remembered is found, looked at and forgotten."""
        saved = cortex.remember("The mail relay is postfix.", tags=["mail"], layer="working")
        found = cortex.search("mail relay", tags=["mail"])
        detail = cortex.memory(saved.id)

        assert (saved.id, "The mail relay is postfix.") == (found[0].id, found[0].text)
        assert ("active", ("mail",)) == (detail.status, detail.tags)
        cortex.forget(saved.id)
        assert not cortex.search("mail relay", tags=["mail"])

    def test_thread(self, cortex: Cortex) -> None:
        """What agents post in a thread comes back in its order."""
        first = cortex.post("Who deploys?", agent="VAJRA", thread="deploys")
        cortex.post("I do.", agent="AZOTH", thread="deploys", responding_to=[first.id])

        assert ["VAJRA", "AZOTH"] == [m["agent"] for m in cortex.thread("deploys").messages]

    def test_crumbs(self, cortex: Cortex) -> None:
        """A crumb that an agent leaves is there for it, in our words as in the document's."""
        cortex.leave_crumb("Moved the tests.", unfinished=["the docs"], agent="NOURI")
        (crumb,) = cortex.get_crumbs("NOURI", hours=1)

        assert (("the docs",), "Moved the tests.") == (crumb.unfinished, crumb.summary)

    def test_speaks_as(self, commands: Commands) -> None:
        """Opened for an agent, it writes as that one and sees with its eyes."""
        with Cortex(commands.home, agent="KETHER") as kether, Cortex(commands.home) as owner:
            saved = kether.remember("Kether keeps a secret garden.")
            assert "KETHER" == saved.agent
            owner.remember("Vajra keeps a secret garden.", agent="VAJRA")

            assert {"KETHER"} == {
                hit.agent for hit in kether.search("secret garden", realm="private")
            }
            assert {"KETHER", "VAJRA"} <= {hit.agent for hit in owner.search("secret garden")}
            tended = kether.get_stale(days=0, limit=500), kether.get_duplicates(0.5, limit=500)
            assert "Vajra keeps" not in str(tended)
            assert "Vajra keeps" in str(owner.get_stale(days=0, limit=500))

    @pytest.mark.parametrize("keep", ["id1", "id2"])
    def test_kept(self, cortex: Cortex, keep: str) -> None:
        """Which of two stays may be said in the document's words; the other one names it."""
        ids = [cortex.remember(f"{keep} {each}.", merge=False).id for each in ("one", "two")]
        named = dict(zip(("id1", "id2"), ids, strict=True))

        assert named[keep] == cortex.consolidate(**named, keep=keep)["kept_id"]
        (part,) = (cortex.memory(each) for each in ids if each != named[keep])
        assert ("merged", named[keep], named[keep]) == (part.status, part.current, part.merged_into)

    def test_changes_as(self, commands: Commands) -> None:
        """Opened for an agent, it changes that one's memories, and no other agent's."""
        with Cortex(commands.home, agent="NOURI") as nouri, Cortex(commands.home) as owner:
            mine = [nouri.remember(f"Nouri has plan {each}.", merge=False).id for each in "abc"]
            hers = owner.remember("Vajra has a plan.", agent="VAJRA").id
            told = owner.post("Vajra has a plan for all.", agent="VAJRA").id
            for other, error in ((hers, NotFound), (told, NotYours)):
                with pytest.raises(error):
                    nouri.forget(mine[0], other)
                with pytest.raises(error):
                    nouri.split(other)
                with pytest.raises(error):
                    nouri.consolidate(mine[0], other)
            nouri.split(nouri.consolidate(mine[0], mine[1])["kept_id"])

            assert [mine[2]] == nouri.forget(mine[2])["forgotten"]
            assert "active" == owner.memory(hers).status == owner.memory(mine[0]).status

    def test_token(self, commands: Commands) -> None:
        """With a token it is that agent, and nobody else."""
        word = Client(commands.home).call("agent_token", agent="ELYSIAN")["token"]
        with Cortex(commands.home, token=word) as elysian:
            assert "ELYSIAN" == elysian.remember("Elders listen.").agent
            with pytest.raises(NotYours):
                elysian.remember("I am another.", agent="VAJRA")
            with pytest.raises(NotYours):
                elysian.ingest("/tmp")
        with Cortex(commands.home, token="wrong") as nobody, pytest.raises(BadToken):
            nobody.search("anything")

    def test_both_words(self, cortex: Cortex) -> None:
        """A parameter under both of its words is refused, whatever their values."""
        with pytest.raises(BadInput, match="visibility mean the same; give one"):
            cortex.search("x", realm="private", visibility="private")

    def test_wrong(self, cortex: Cortex) -> None:
        """What the daemon refuses arrives as its own class, saying what there is."""
        with pytest.raises(BadInput, match="private, village, bridge"):
            cortex.remember("x", realm="public")

    def test_threads(self, cortex: Cortex) -> None:
        """One object may be used by several threads at once."""
        states: list[str] = []

        def work(number: int) -> None:
            states.append(cortex.remember(f"Fact {number} of {number}.", merge=False).state)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

        assert ["saved"] * 8 == states

    async def test_status(self, commands: Commands) -> None:
        """How the daemon is can be asked either way."""
        async with AsyncCortex(commands.home) as cortex:
            assert str(cortex.home.root) == (await cortex.status())["home"]


class TestEvery:
    def test_archived(self, cortex: Cortex) -> None:
        """What has no result of its own is asked as the rest is, and gives JSON."""
        saved = cortex.remember("The fountain is dry.", layer="working")
        assert "long_term" == cortex.promote(saved.id, "long_term")["layer"]
        cortex.archive([saved.id], "it rains")

        assert [saved.id] == [
            each["id"] for each in cortex.memories(status="archived")["memories"][:1]
        ]
        assert "it rains" in str(cortex.memory_changes(memory=saved.id, kind="archive"))

    @pytest.mark.parametrize("name", QUESTIONS)
    async def test_questions(self, commands: Commands, name: str) -> None:
        """A question without parameters is answered alike, waited for or awaited."""
        with Cortex(commands.home) as cortex:
            found = getattr(cortex, name)()
        async with AsyncCortex(commands.home) as other:
            awaited = await getattr(other, name)()

        assert found or isinstance(found, tuple)
        assert type(found) is type(awaited)


class TestDown:
    def test_nobody(self, tmp_home: Path) -> None:
        """Without a daemon the error says how to start one."""
        with Cortex(tmp_home) as cortex, pytest.raises(DaemonDown, match="cortex start"):
            cortex.search("x")

    async def test_nobody_awaited(self, tmp_home: Path) -> None:
        """So it does when it is awaited."""
        async with AsyncCortex(tmp_home) as cortex:
            with pytest.raises(DaemonDown, match="cortex start"):
                await cortex.search("x")

    @pytest.mark.slow
    async def test_crash(self, commands: Commands) -> None:
        """A crash of the daemon between two calls is survived by the next one after its start."""
        with Cortex(commands.home) as cortex:
            saved = cortex.remember("The lighthouse is green.")
            async with AsyncCortex(commands.home) as other:
                kill(cortex.status()["pid"])
                with pytest.raises(DaemonDown):
                    cortex.search("lighthouse")
                commands("start")

                assert saved.id == cortex.search("lighthouse")[0].id
                assert saved.id == (await other.search("lighthouse"))[0].id

    def test_embedding_it(self, commands: Commands) -> None:
        """A home whose daemon runs is not embedded; the error says what to do instead."""
        with pytest.raises(AlreadyRunning, match="leave out embedded=True"):
            Cortex(commands.home, embedded=True)

    def test_auto(self, commands: Commands) -> None:
        """Where a daemon answers, "auto" asks that one."""
        with Cortex(commands.home, embedded="auto") as cortex:
            assert os.getpid() != cortex.status()["pid"]

    def test_no_word(self, tmp_home: Path) -> None:
        """Anything else about embedding is refused."""
        with pytest.raises(BadInput, match='True, False or "auto"'):
            Cortex(tmp_home, embedded="yes")  # type: ignore[arg-type]


class TestAwaited:
    async def test_cancelled(self, commands: Commands) -> None:
        """A call that is cancelled leaves nothing behind, and the next one works."""
        async with AsyncCortex(commands.home) as cortex:
            call = asyncio.create_task(cortex.recall("anything"))
            await asyncio.wait({call}, timeout=0)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call

            assert str(cortex.home.root) == (await cortex.status())["home"]

    async def test_many(self, commands: Commands) -> None:
        """Many calls wait for each other nowhere but in the daemon."""
        async with AsyncCortex(commands.home) as cortex:
            saved = await asyncio.gather(
                *(cortex.remember(f"Number {n} is {n}.", merge=False) for n in range(20))
            )
        assert 20 == len({each.id for each in saved})

    async def test_silence(self, tmp_home: Path) -> None:
        """An answer that does not come in time is an error that says how long was waited."""
        hung = asyncio.Event()

        async def never(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await hung.wait()
            writer.close()

        async with await asyncio.start_unix_server(never, str(Home(tmp_home).socket)):
            with pytest.raises(DeadlineExceeded, match=r"did not answer status within 0\.05 s"):
                await AsyncClient(Client(tmp_home, timeout=0.05)).call("status")
            hung.set()

    @pytest.mark.parametrize("said", [b"", b'{"id": 1, "resu', b"[]\n", b'{"result": 7}\n'])
    async def test_strange_answer(self, tmp_home: Path, said: bytes) -> None:
        """An answer that breaks off, or is none, is an error like any other."""

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readline()
            writer.write(said)
            writer.close()

        async with await asyncio.start_unix_server(answer, str(Home(tmp_home).socket)):
            with pytest.raises(CortexError):
                await AsyncClient(Client(tmp_home)).call("status")


class TestCarried:
    def test_there_and_back(self, commands: Commands, tmp_path: Path) -> None:
        """An agent's export holds what it may read; read in where it came from, it adds nothing."""
        with Cortex(commands.home) as owner, Cortex(commands.home, agent="ORION") as orion:
            owner.remember("Orion's own line.", agent="ORION")
            owner.remember("Another's private line.", agent="LYRA")
            done = orion.export_to(tmp_path / "orion.json")
            text = (tmp_path / "orion.json").read_text()

            assert 1 == done.records["cortex_private"]
            assert "Orion's own line." in text
            assert "Another's private line." not in text
            assert {} == owner.import_from(tmp_path / "orion.json").added
            assert "1.0" == json.loads(text)["format_version"]

    def test_no_place(self, cortex: Cortex, tmp_path: Path) -> None:
        """A file that cannot be written is told, and nothing is left beside it."""
        with pytest.raises(CortexError, match="is a folder"):
            cortex.export_to(tmp_path)
        with pytest.raises(CortexError, match="cannot write"):
            cortex.export_to(tmp_path / "nowhere" / "x.json")

        assert [] == list(tmp_path.parent.glob(f".{tmp_path.name}-*"))
