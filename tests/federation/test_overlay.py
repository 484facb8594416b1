"""The file of the stores that were added while the daemon ran."""

from __future__ import annotations

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cortex_actors.errors import HomeUnwritable, Refused
from cortex_actors.federation.registry import LARGEST, Overlay, drop_entry, put_entry
from cortex_actors.federation.store import Auth, StoreSpec

ROW = {"name": "mem", "type": "seren_memory", "url": "http://127.0.0.1:7420"}


@pytest.fixture
def file(tmp_path: Path) -> Overlay:
    """Give the file of a home; it is not there yet."""
    return Overlay(tmp_path / "runtime-stores.json")


def spec(**more: Any) -> StoreSpec:
    """Return the store of `ROW`."""
    return StoreSpec(**{**ROW, "managed": True, **more})


class TestRead:
    def test_missing(self, file: Overlay) -> None:
        """A file that is not there holds nothing, and that is no trouble."""
        found = file.read()

        assert ((), (), True) == (found.specs, found.trouble, found.is_sound)

    def test_rows(self, file: Overlay) -> None:
        """Each entry is a store with what it leaves out as usual."""
        more = {"weight": 2, "floor": 0.5, "enabled": False, "options": {"search_path": "/q"}}
        file.path.write_text(json.dumps([ROW, {**ROW, "name": "b", **more}]))
        file.path.chmod(0o600)
        found = file.read()

        wanted: Any = {"name": "b", **more}
        assert ((spec(), spec(**wanted)), ()) == (found.specs, found.trouble)

    @pytest.mark.parametrize("spelling", ["token{}", "bearer_token{}"])
    def test_tokens(self, file: Overlay, spelling: str) -> None:
        """Where a token lies may be spelt in either way; a key of nobody's is an option."""
        auth = {"": "t0ken", "_keyring": "service/user", "_env": "NAME"}
        given = {spelling.format(end): value for end, value in auth.items()}
        file.path.write_text(json.dumps([{**ROW, **given, "search_path": "/q"}]))
        (found,) = file.read().specs

        assert Auth("t0ken", "service/user", "NAME") == found.auth
        assert {"search_path": "/q"} == found.options

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("", "it is no JSON"),
            ("{]", "it is no JSON"),
            ("[NaN]", "NaN is no number of JSON"),
            ("[1e999]", "1e999 is too large a number"),
            ('{"name": "mem"}', "it holds no array"),
            ("[" * 100_000, "it is nested too deeply"),
            (" " * (LARGEST + 1), "it has more than"),
        ],
    )
    def test_corrupt(self, file: Overlay, text: str, why: str) -> None:
        """A file that is no array of JSON holds nothing, is told, and is left as it is."""
        file.path.write_text(text)
        found = file.read()
        (trouble,) = found.trouble

        assert ((), False) == (found.specs, found.is_sound)
        assert why in trouble
        assert str(file.path) in trouble
        assert text == file.path.read_text()

    def test_not_text(self, file: Overlay) -> None:
        """Bytes that are no text are as good as no JSON."""
        file.path.write_bytes(b"\xff\xfe[]")

        assert not file.read().is_sound

    def test_entries(self, file: Overlay) -> None:
        """An entry that is no store is left out and told, without what stands in it."""
        secret = {**ROW, "name": "x y", "token": "s3cr3t"}
        file.path.write_text(json.dumps([7, secret, {**ROW, "weight": "2"}, {**ROW, "name": "b"}]))
        found = file.read()

        assert ["b"] == [each.name for each in found.specs]
        assert 4 == len(found.trouble)  # the last one is that others may read it
        assert found.trouble[0].startswith("entry 1 of runtime-stores.json is left out: it is no")
        assert "weight: input should be a valid number" in found.trouble[2]
        assert "s3cr3t" not in "".join(found.trouble)

    def test_twice(self, file: Overlay) -> None:
        """Of two entries of one name the first counts."""
        file.path.write_text(json.dumps([ROW, {**ROW, "weight": 9.0}]))
        file.path.chmod(0o600)
        found = file.read()

        assert (spec(),) == found.specs
        assert ("the store 'mem' is in runtime-stores.json twice: the first one counts",) == (
            found.trouble
        )

    def test_loose(self, file: Overlay) -> None:
        """A file that others may read is used, and told of."""
        file.path.write_text(json.dumps([ROW]))
        file.path.chmod(0o644)
        found = file.read()

        assert (spec(),) == found.specs
        assert "chmod 600" in found.trouble[0]

    def test_link(self, file: Overlay, tmp_path: Path) -> None:
        """A link is not followed, wherever it leads."""
        (tmp_path / "elsewhere").write_text(json.dumps([ROW]))
        file.path.symlink_to(tmp_path / "elsewhere")
        found = file.read()

        assert ((), False) == (found.specs, found.is_sound)
        assert "it is a link" in found.trouble[0]

    def test_foreign(self, file: Overlay, monkeypatch: pytest.MonkeyPatch) -> None:
        """Another user's file is not used."""
        file.path.write_text(json.dumps([ROW]))
        uid = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: uid + 1)

        assert "it is another user's" in file.read().trouble[0]

    def test_pipe(self, file: Overlay) -> None:
        """What is no file is not waited for."""
        os.mkfifo(file.path)

        assert "it is no file" in file.read().trouble[0]


class TestWrite:
    def test_form(self, file: Overlay, tmp_path: Path) -> None:
        """The file is an array with an indent of two, for its owner alone, and nothing beside."""
        file.write(put_entry((), spec(weight=2.0)))

        wanted = [{**ROW, "weight": 2.0, "floor": 0.0}]
        assert json.dumps(wanted, indent=2) + "\n" == file.path.read_text()
        assert 0o600 == file.path.stat().st_mode & 0o777
        assert [file.path] == list(tmp_path.iterdir())

    def test_round_trip(self, file: Overlay) -> None:
        """What is written is read again, whatever is in it."""
        auth = Auth("t0ken", "service/user", "NAME")
        options = {"path": "/ä", "deep": {"n": [1, None, True]}}
        given = spec(weight=0.0, floor=1.0, enabled=False, options=options, auth=auth)
        file.write(put_entry((), given))

        assert (given,) == file.read().specs

    def test_left_over(self, file: Overlay, tmp_path: Path) -> None:
        """What a daemon that was killed while it wrote has left is gone with the next write."""
        (tmp_path / ".runtime-stores.json.0123456789abcdef").write_text("t0ken")
        file.write(put_entry((), spec()))

        assert [file.path] == list(tmp_path.iterdir())

    def test_loose_before(self, file: Overlay) -> None:
        """A file that others could read cannot be read by them any more."""
        file.path.write_text("[]")
        file.path.chmod(0o644)
        file.write([])

        assert 0o600 == file.path.stat().st_mode & 0o777

    @pytest.mark.parametrize("is_link", [False, True])
    def test_not_ours(self, file: Overlay, tmp_path: Path, *, is_link: bool) -> None:
        """A file that is none of ours, or a link, is written neither over nor through."""
        target = tmp_path / "elsewhere"
        (target if is_link else file.path).write_text("a person's own")
        if is_link:
            file.path.symlink_to(target)

        with pytest.raises(HomeUnwritable, match="mend or remove it"):
            file.write([ROW])
        assert "a person's own" == file.path.read_text()
        assert is_link == file.path.is_symlink()

    def test_too_much(self, file: Overlay) -> None:
        """More than is read again is not written."""
        file.write([ROW])

        with pytest.raises(Refused, match="would have more than"):
            file.write([{**ROW, "options": {"path": "x" * LARGEST}}])
        assert (spec(),) == file.read().specs

    def test_in_the_way(self, file: Overlay, tmp_path: Path) -> None:
        """Where it cannot be written nothing is left of the attempt."""
        file.path.mkdir()

        with pytest.raises(HomeUnwritable, match="nothing was changed"):
            file.write([ROW])
        assert [file.path] == list(tmp_path.iterdir())


#: What may stand in a file of JSON, half characters and numbers beyond measure among it.
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)

#: What may stand in an entry that looks like one.
ENTRY = st.fixed_dictionaries(
    {"name": ANYTHING | st.just("mem"), "type": ANYTHING | st.just("t"), "url": ANYTHING},
    optional={
        name: ANYTHING | st.text(st.characters())
        for name in ("weight", "floor", "enabled", "options", "token", "bearer_token_env", "more")
    },
)


class TestAnything:
    @given(st.lists(ENTRY | ANYTHING, max_size=4))
    @settings(max_examples=25)
    @example([{**ROW, "weight": 10**400}])
    @example([{**ROW, "url": "\ud800", "options": {"\udfff": "\ud800"}}])
    def test_survives(self, entries: list[object]) -> None:
        """Whatever stands in the array, reading it raises nothing and writing it loses nothing."""
        with TemporaryDirectory() as folder:
            file = Overlay(Path(folder) / "runtime-stores.json")
            file.write(entries)
            found = file.read()
            file.write(put_entry(found.entries, spec(name="new")))
            again = file.read()

        assert found.is_sound
        assert len(again.entries) == len(drop_entry(entries, "new")) + 1
        assert "new" in {each.name for each in again.specs}


class TestEntries:
    def test_replaced(self) -> None:
        """A store is described anew where it stood; what is no store stays."""
        entries: tuple[object, ...] = (7, {"name": "mem", "type": "old"}, {"name": "b"})
        found = put_entry(entries, spec())

        assert (7, "mem", "b") == (found[0], found[1]["name"], found[2]["name"])  # type: ignore[index]
        assert "seren_memory" == found[1]["type"]  # type: ignore[index]

    def test_twice(self) -> None:
        """Of two entries of the name one is left."""
        assert 1 == len(put_entry(({"name": "mem"}, {"name": "mem"}), spec()))

    def test_dropped(self) -> None:
        """A store is dropped by its name, and nothing else."""
        assert (7, {"name": "b"}) == drop_entry((7, {"name": "mem"}, {"name": "b"}), "mem")
