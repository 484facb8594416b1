"""What `--repair` mends while no daemon runs, and that a second run finds nothing."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.doctor import checks, doctor
from cortex_actors.doctor.doctor import Ward
from cortex_actors.doctor.models import Patient
from cortex_actors.domain.hit import Repair
from cortex_actors.storage.health.file import LedgerReader
from cortex_actors.storage.health.rows import MENDS
from cortex_actors.storage.ledger import offline
from cortex_actors.storage.ledger.files import Halt
from tests.checkup.support import noticed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cortex_actors.domain.event import FileChanged
    from cortex_actors.storage.ledger.actor import Connection
    from tests.checkup.support import Case


async def treated(case: Case) -> list[str]:
    """Mend everything that the checks of ledger and files find; return what was done."""
    said: list[str] = []

    async def read(query: Callable[[Connection], Any]) -> Any:
        with LedgerReader(case.home.ledger, case.clock, Halt()) as reader:
            return reader.ask(query)

    async def write(unit: Callable[[Connection], Any]) -> Any:
        return offline.commit(case.home.ledger, unit)

    async def say(changed: Sequence[FileChanged]) -> None:
        said.extend(each.path for each in changed)

    look = checks.run_checks(Patient(case.home, case.settings, case.clock, online=False), Halt())
    done = await doctor.repair_all(look, Ward(read, write, say))
    return [str(repair) for repair, _ in done] + said


class TestLedger:
    async def test_beliefs(self, case: Case) -> None:
        """A memory is believed while it is active, as its row tells when that ended."""
        who = "INSERT INTO agents (id, display_name, symbol, registered_at)"
        case.run(f"{who} VALUES ('A', 'A', 'A', 1)")
        columns = "id, realm, agent_id, layer, type, text, abstract, summary, text_hash, created_at"
        for number, rest in enumerate(("'active', NULL", "'archived', 9")):
            name = f"mem_{number:026}"
            case.run(
                f"INSERT INTO memories ({columns}, layer_since, status, archived_at) VALUES (?,"  # noqa: S608
                f" 'private', 'A', 'working', 'fact', ?, '', '', zeroblob(32), 5, 5, {rest})",
                name,
                name,
            )
        case.run("INSERT INTO beliefs VALUES (?, 5, NULL)", f"mem_{1:026}")
        assert "beliefs" in case.ill()

        assert "beliefs" in await treated(case)
        assert "beliefs" not in case.ill()
        open_one = "SELECT memory_id FROM beliefs WHERE ended_at IS NULL AND began_at = 5"
        assert f"mem_{0:026}" == case.ask(open_one)
        assert 9 == case.ask("SELECT max(ended_at) FROM beliefs")

    async def test_passages(self, case: Case) -> None:
        """Passages that lack are made again with their words, and strays go."""
        case.run("DELETE FROM passages WHERE id < 4")
        case.run(
            "UPDATE insights SET status = 'withdrawn' WHERE id IN "
            "(SELECT item_id FROM passages WHERE id = 7)"
        )
        assert {"passages", "words"} == set(case.ill())

        # The vector of what may not be found any more is without use now.
        assert ["words", "passages", "orphans"] == await treated(case)
        assert {} == case.ill()
        assert [] == await treated(case)

    async def test_passages_and_damaged_words(self, case: Case) -> None:
        """Passages that lack are made again though the list of words is damaged itself."""
        case.run("DELETE FROM passages WHERE id = 3")
        case.run(
            "UPDATE insights SET status = 'withdrawn' WHERE id IN "
            "(SELECT item_id FROM passages WHERE id = 7)"
        )
        case.run(
            "INSERT INTO passages (collection, item_id, place, text, text_hash) "
            "VALUES ('cortex_nobody', 'x', 'both', 'y', zeroblob(32))"
        )
        case.run("UPDATE words_alone_data SET block = x'0011' WHERE id > 1")

        assert {"passages", "words"} <= {*await treated(case)}
        assert {} == case.ill()

    async def test_words(self, case: Case) -> None:
        """Words that are not those of the passages are made again."""
        case.run("DELETE FROM words_alone_data WHERE id > 10")

        assert ["words"] == await treated(case)
        assert {} == case.ill()
        assert [] == await treated(case)

    async def test_vectors(self, case: Case) -> None:
        """Damaged vectors are dropped, and their texts wait to be embedded again."""
        case.run("UPDATE vectors SET vector = x'00' WHERE seq IN (1, 2)")

        assert ["damaged"] == await treated(case)
        assert {} == case.ill()
        assert 2 == case.ask("SELECT count(*) FROM index_ops")

    async def test_forgotten(self, case: Case) -> None:
        """A text that nobody would embed waits to be embedded."""
        case.run("DELETE FROM vectors WHERE seq = 3")

        assert ["forgotten"] == await treated(case)
        assert {} == case.ill()

    async def test_orphans(self, case: Case) -> None:
        """Vectors without use are dropped, and only those."""
        before = case.ask("SELECT count(*) FROM vectors")
        case.run("INSERT INTO vectors (model, text_hash, vector) VALUES ('x', zeroblob(32), 'y')")
        case.run(
            "INSERT INTO vectors (model, text_hash, vector) SELECT 'strange', text_hash, 'y' "
            "FROM vectors WHERE seq = 1"
        )

        assert ["orphans"] == await treated(case)
        assert before == case.ask("SELECT count(*) FROM vectors")

    async def test_retired(self, case: Case) -> None:
        """What a retired model made is kept: somebody may want it back."""
        case.run(
            "INSERT INTO embedding_models (id, dimension, state, since) "
            "VALUES ('old', 3, 'retired', 1)"
        )
        case.run(
            "INSERT INTO vectors (model, text_hash, vector) SELECT 'old', text_hash, 'y' "
            "FROM vectors WHERE seq = 1"
        )

        assert [] == await treated(case)

    async def test_many_slices(self, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
        """What is mended slice by slice is mended to its end."""
        small = replace(MENDS[Repair.PASSAGES], slice=4)
        monkeypatch.setattr(doctor, "MENDS", {**MENDS, Repair.PASSAGES: small})
        case.run("DELETE FROM passages")

        assert "passages" in await treated(case)
        assert {} == case.ill()


class TestFiles:
    async def test_asks_to_be_read(self, case: Case) -> None:
        """Files that were missed wait to be read again; not a byte of theirs is changed."""
        case.file.write_text("## New\nThis is new.\n")
        other = case.projects / "harbor-web" / "GEMINI.md"
        other.write_text("## One\nSomething.\n")

        assert ["files", str(case.file), str(other)] == await treated(case)
        assert "## New\nThis is new.\n" == case.file.read_text()


class TestVisit:
    @pytest.mark.slow
    async def test_all_at_once(self, case: Case) -> None:
        """Everything is broken, one visit names and mends it, and the next finds nothing wrong."""
        case.run("DELETE FROM passages WHERE id < 4")
        case.run("UPDATE vectors SET vector = x'00' WHERE seq > 20")
        case.file.write_text("## New\nThis is new.\n")
        shutil.rmtree(case.home.index)
        found = await case.visit()
        assert (1, []) == (found["exit_code"], found["repaired"])
        assert {"passages", "words", "vectors", "files", "index content"} <= {
            each["check"] for each in found["checks"] if each["severity"] in ("warning", "error")
        }

        mended = await case.visit(repair=True)
        done = [each["repair"] for each in mended["repaired"]]
        assert ["words", "passages", "damaged", "index", "files"] == done
        again = await case.visit(repair=True)
        assert (0, []) == (again["exit_code"], again["repaired"])
        assert "they wait to be read" in noticed(again, "files")[0]

    @pytest.mark.slow
    async def test_index(self, case: Case) -> None:
        """A good index is compared without a daemon, and one that does not open is told."""
        assert [] == noticed(await case.visit(), "index content")
        folder = next(case.home.index.glob("gen-*"))
        (folder / "chroma.sqlite3").write_bytes(b"x" * 9_000)
        found = await case.visit()
        assert 1 == found["exit_code"]
        assert "cannot be used" in noticed(found, "index content")[0]
        mended = await case.visit(repair=True)
        assert (0, ["index"]) == (
            mended["exit_code"],
            [each["repair"] for each in mended["repaired"]],
        )

    async def test_damaged(self, case: Case) -> None:
        """A damaged ledger is not repaired: the next start recovers it."""
        with case.home.ledger.open("r+b") as file:
            file.seek(4_096 * 3)
            file.write(b"x" * 4_096 * 40)
        found = await case.visit(repair=True)

        assert (70, []) == (found["exit_code"], found["repaired"])

    async def test_bad_settings(self, case: Case) -> None:
        """Settings that no daemon would start with are a finding, not the end."""
        case.home.settings.write_text("[nonsense]\n")
        case.run("DELETE FROM index_state")
        found = await case.visit()

        assert any("no daemon starts" in text for text in noticed(found, "settings"))
