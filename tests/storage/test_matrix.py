from __future__ import annotations

import random
import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cortex_actors.storage.search.matrix import CollectionPart, VectorMatrix
from tests.storage.vectored import DIMENSION, MODEL, PRIVATE, VILLAGE, Vectored, digest

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from cortex_actors.storage.search.matrix import View

#: What repeats the random walks.
SEEDS = (1, 2, 3)


@pytest.fixture
def matrix() -> VectorMatrix:
    """Give a matrix that holds nothing yet."""
    return VectorMatrix(MODEL, 10)


def seen(ledger: Vectored, matrix: VectorMatrix) -> dict[tuple[str, bool, str], bytes]:
    """Return what a search sees: (collection, whether with its predecessor, item) -> vector."""
    with ledger.reading.begin() as connection:
        view = matrix.find_view(connection)
        assert view is not None
        return shown(connection, view)


def shown(connection: Connection, view: View) -> dict[tuple[str, bool, str], bytes]:
    """Return the rows of a view that the ledger still has."""
    there = set(connection.exec_driver_sql("SELECT id FROM passages").scalars())
    found = {}
    for place, passage in enumerate(view.ids.tolist()):
        if passage in there and not view.gone[place]:
            part = view.known[view.parts[place]]
            key = (part.collection, part.is_paired, view.items[place])
            assert key not in found
            found[key] = view.rows[place].tobytes()
    return found


def true(ledger: Vectored, model: str = MODEL) -> dict[tuple[str, bool, str], bytes]:
    """Return what a search should see."""
    sql = (
        "SELECT collection, place = 'paired', item_id, vector FROM passages"
        " JOIN vectors USING (text_hash) WHERE model = ?"
    )
    with ledger.reading.begin() as connection:
        rows = connection.exec_driver_sql(sql, (model,)).all()
    whole = [row for row in rows if len(row[3]) == 4 * DIMENSION]
    return {
        (collection, bool(paired), item): blob
        for collection, paired, item, blob in whole
        if np.isfinite(np.frombuffer(blob, np.float32)).all()
    }


class TestView:
    def test_empty(self, ledger: Vectored, matrix: VectorMatrix) -> None:
        """A ledger without vectors is a matrix without rows."""
        ledger.put("a", "use ruff")

        assert {} == seen(ledger, matrix)

    def test_late(self, ledger: Vectored, matrix: VectorMatrix) -> None:
        """A vector that comes after its passage was looked at is seen by the next search."""
        ledger.put("a", "use ruff")
        ledger.put("b", "ports stay")
        ledger.embed("ports stay")
        first = seen(ledger, matrix)
        ledger.embed("use ruff")

        assert {(PRIVATE, False, "b")} == first.keys()
        assert {(PRIVATE, False, "a"), (PRIVATE, False, "b")} == seen(ledger, matrix).keys()

    def test_one_text_of_two(self, ledger: Vectored, matrix: VectorMatrix) -> None:
        """A text that two items have is there for each."""
        ledger.put("a", "use ruff")
        ledger.put("a", "use ruff", collection=VILLAGE)
        ledger.embed("use ruff")

        assert {(PRIVATE, False, "a"), (VILLAGE, False, "a")} == seen(ledger, matrix).keys()

    def test_other_models(self, ledger: Vectored, matrix: VectorMatrix) -> None:
        """Vectors of another model are not there, whichever came first."""
        ledger.put("a", "use ruff")
        ledger.embed("use ruff", model="other")
        before = seen(ledger, matrix)
        ledger.embed("use ruff")

        assert {} == before
        assert true(ledger) == seen(ledger, matrix)

    def test_made_again(self, ledger: Vectored, matrix: VectorMatrix) -> None:
        """A vector that was dropped and made again takes the place of the first."""
        ledger.put("a", "use ruff")
        ledger.embed("use ruff")
        seen(ledger, matrix)
        ledger.run("DELETE FROM vectors")
        ledger.embed("use ruff")

        assert true(ledger) == seen(ledger, matrix)

    def test_counts(self, ledger: Vectored, matrix: VectorMatrix) -> None:
        """It knows without the ledger how many rows each part has."""
        ledger.put("a", "one")
        ledger.put("b", "two", before="one")
        ledger.embed("one", "two", "one\ntwo")
        seen(ledger, matrix)

        assert {
            CollectionPart(PRIVATE, False): 2,
            CollectionPart(PRIVATE, True): 1,
        } == matrix.get_counts()

    def test_another_ledger(self, ledger: Vectored, matrix: VectorMatrix) -> None:
        """A ledger that was recovered meanwhile is read anew: its numbers mean something else."""
        ledger.put("a", "one")
        ledger.embed("one", "two")
        seen(ledger, matrix)
        ledger.drop("a")
        ledger.run("DELETE FROM sqlite_sequence")
        ledger.put("b", "two")
        ledger.run("INSERT INTO owner (one, epoch, pid, started_at) VALUES (1, 2, 3, 4)")

        assert true(ledger) == seen(ledger, matrix)

    def test_earlier_moment(self, ledger: Vectored, matrix: VectorMatrix) -> None:
        """A transaction that began earlier sees its own moment, whoever else has looked since."""
        ledger.put("a", "one")
        ledger.embed("one", "two")
        with ledger.reading.begin() as early:
            before = early.exec_driver_sql("SELECT count(*) FROM passages").scalar()
            ledger.put("b", "two")
            late = seen(ledger, matrix)
            view = matrix.find_view(early)
            assert view is not None
            found = shown(early, view)

        assert 1 == before
        assert {(PRIVATE, False, "a")} == found.keys()
        assert 2 == len(late) == len(seen(ledger, matrix))


class TestDamaged:
    @pytest.mark.parametrize(
        "blob", [b"\0" * 9, b"", b"\xff" * 4 * DIMENSION, b"\0\0\x80\x7f" * DIMENSION, bytes(32)]
    )
    def test_is_left_out(self, ledger: Vectored, matrix: VectorMatrix, blob: bytes) -> None:
        """A vector with too few bytes, or with no numbers in them, is named and not compared."""
        for each in ("a", "b", "c"):
            ledger.put(each, each)
        ledger.embed("a", "b", "c")
        ledger.run("UPDATE vectors SET vector = ? WHERE text_hash = ?", blob, digest("b"))
        found = seen(ledger, matrix)

        assert {(PRIVATE, False, "a"), (PRIVATE, False, "c")} == found.keys()
        assert [digest("b")] == matrix.take_damaged()
        assert [] == matrix.take_damaged()


class TestRoom:
    def test_too_many(self, ledger: Vectored) -> None:
        """More rows than there is room for are not held; when they are few again, they are."""
        matrix = VectorMatrix(MODEL, 0)
        matrix._most = 3 * 4 * DIMENSION
        for each in "abcd":
            ledger.put(each, each)
            ledger.embed(each)
        with ledger.reading.begin() as connection:
            over = matrix.find_view(connection)
        told = matrix.describe()
        ledger.drop("b", "c")

        assert over is None
        assert (0, True) == (told["rows"], told["is_over"])
        assert {(PRIVATE, False, "a"), (PRIVATE, False, "d")} == seen(ledger, matrix).keys()

    def test_room_of_what_went(self, ledger: Vectored) -> None:
        """What has gone makes room for what comes."""
        matrix = VectorMatrix(MODEL, 0)
        matrix._most = 4 * 4 * DIMENSION
        for number in range(12):
            ledger.put(f"i{number}", f"t{number}")
            ledger.embed(f"t{number}")
            ledger.drop(f"i{number - 3}")
            assert true(ledger) == seen(ledger, matrix)

        assert not matrix.describe()["is_over"]

    def test_forget(self, ledger: Vectored, matrix: VectorMatrix) -> None:
        """What is forgotten is read again."""
        ledger.put("a", "a")
        ledger.embed("a")
        seen(ledger, matrix)
        matrix.forget()
        told = matrix.describe()

        assert 0 == told["rows"]
        assert true(ledger) == seen(ledger, matrix)


class TestRandom:
    @pytest.mark.parametrize("seed", SEEDS)
    def test_is_what_sql_says(self, ledger: Vectored, seed: int) -> None:
        """Whatever comes, goes or comes late, of whichever model: a search sees just that."""
        chance = random.Random(seed)
        matrices = {model: VectorMatrix(model, 1) for model in (MODEL, "other")}
        texts = [f"t{number}" for number in range(15)]
        for step in range(60):
            name, text = f"i{chance.randrange(12)}", chance.choice(texts)
            collection = chance.choice([PRIVATE, VILLAGE])
            match chance.randrange(6):
                case 0 | 1:
                    before = chance.choice([None, None, *texts])
                    ledger.put(name, text, before=before, collection=collection)
                case 2:
                    ledger.drop(name, collection=collection)
                case 3:
                    pair = f"{chance.choice(texts)}\n{text}"
                    ledger.embed(text, pair, model=chance.choice([MODEL, "other"]))
                case 4:
                    dropped = "DELETE FROM vectors WHERE model = ? AND text_hash = ?"
                    ledger.run(dropped, MODEL, digest(text))
                    ledger.embed(text)
                case 5 if chance.random() < 0.2:
                    matrices[MODEL].forget()
            model = chance.choice([MODEL, MODEL, "other"])
            assert true(ledger, model) == seen(ledger, matrices[model]), f"seed {seed}, step {step}"

    def test_threads(self, ledger: Vectored, matrix: VectorMatrix) -> None:
        """Threads that look while somebody writes see all that was there, but what he removed."""
        wrong: list[object] = []
        gone: set[str] = set()
        done = threading.Event()

        def look() -> None:
            while not done.is_set():
                with ledger.reading.begin() as connection:
                    sql = "SELECT item_id FROM passages JOIN vectors USING (text_hash)"
                    there = set(connection.exec_driver_sql(sql).scalars())
                    view = matrix.find_view(connection)
                    found = set() if view is None else {key[2] for key in shown(connection, view)}
                    # Another thread may have seen a removal that this transaction does not.
                    if view is None or there - found - gone:
                        wrong.append(there - found)

        threads = [threading.Thread(target=look) for _ in range(2)]
        for each in threads:
            each.start()
        for number in range(40):
            ledger.put(f"i{number}", f"t{number}")
            ledger.embed(f"t{number}")
            if number % 3 == 0:
                gone.add(f"i{number // 2}")
                ledger.drop(f"i{number // 2}")
        done.set()
        for each in threads:
            each.join()

        assert [] == wrong
