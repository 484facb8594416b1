"""Which folders are never opened again, and which addresses are never used."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from cortex_actors.errors import ConfigurationError
from cortex_actors.sections import StorageSettings
from cortex_actors.storage.index.chroma import Server
from cortex_actors.storage.index.life import FLOOR, MARKER, Generations, find_suspicion
from cortex_actors.storage.index.pending import IndexState

if TYPE_CHECKING:
    from pathlib import Path


def files(folder: Path, **sizes: int) -> Path:
    """Make a segment's files of those sizes, which take no room on the disk."""
    segment = folder / "0f0e"
    segment.mkdir()
    for name, size in sizes.items():
        with (segment / name.replace("_bin", ".bin").replace("_pickle", ".pickle")).open("wb") as f:
            f.truncate(size)
    return folder


class TestFolders:
    def test_sound(self, tmp_path: Path) -> None:
        """Files as Chroma leaves them at 10,000 rows of 384 numbers are no reason to doubt."""
        sizes = {"data_level0_bin": 16_760_000, "link_lists_bin": 87_056}
        folder = files(tmp_path, **sizes, index_metadata_pickle=680_168)

        assert "" == find_suspicion(folder, rows=10_000, vector_bytes=1_536)

    def test_new(self, tmp_path: Path) -> None:
        """An empty folder is a new generation."""
        assert "" == find_suspicion(tmp_path, rows=0, vector_bytes=1_536)

    def test_empty_pickle(self, tmp_path: Path) -> None:
        """A file that was opened for writing and never written is what a power cut leaves."""
        folder = files(tmp_path, data_level0_bin=4_096, index_metadata_pickle=0)

        assert "index_metadata.pickle is empty" in find_suspicion(folder, rows=9, vector_bytes=12)

    def test_links(self, tmp_path: Path) -> None:
        """Links that are ten times as large as the vectors they link are garbage."""
        folder = files(tmp_path, data_level0_bin=100_000, link_lists_bin=1_000_001)

        assert "link_lists.bin has 1,000,001 bytes" in find_suspicion(
            folder, rows=9, vector_bytes=12
        )

    def test_bloat(self, tmp_path: Path) -> None:
        """A folder that swallows the disk is given up before it has."""
        folder = files(tmp_path, data_level0_bin=FLOOR + 1_000_000)

        assert "its files have" in find_suspicion(folder, rows=10, vector_bytes=1_536)
        assert "" == find_suspicion(folder, rows=1_000, vector_bytes=1_536)

    def test_gone(self, tmp_path: Path) -> None:
        """A folder that cannot be looked into is an error, not a sound one."""
        with pytest.raises(FileNotFoundError):
            find_suspicion(tmp_path / "nowhere", rows=0, vector_bytes=1_536)


class TestServers:
    @pytest.mark.parametrize(
        ("url", "same"),
        [
            ("http://localhost", "http://localhost:8000"),
            ("http://127.0.0.1:8001/", "http://127.0.0.1:8001"),
            ("http://[::1]:80", "http://[::1]:80"),
            ("https://chroma.example.org", "https://chroma.example.org:443"),
            ("HTTPS://Chroma.Example.org:8443", "https://chroma.example.org:8443"),
        ],
    )
    def test_used(self, url: str, same: str) -> None:
        """A server on this machine, or behind TLS anywhere, is used; ports have their defaults."""
        assert same == Server.from_address(url).url

    @pytest.mark.parametrize(
        ("url", "why"),
        [
            ("", "http://HOST:PORT"),
            ("chroma:8000", "http://HOST:PORT"),
            ("ftp://127.0.0.1", "http://HOST:PORT"),
            ("http://", "http://HOST:PORT"),
            ("http://192.168.1.5:8000", "in the clear"),
            ("http://169.254.169.254", "in the clear"),
            ("http://localhost.evil.com", "in the clear"),
            ("http://127.0.0.1:99999", "ort"),
            ("http://127.0.0.1/api?x=1", "no user, path or query"),
            ("https://chroma.example.org/v2", "no user, path or query"),
        ],
    )
    def test_refused(self, url: str, why: str) -> None:
        """Any other address is refused, with the reason, before anything is sent there."""
        with pytest.raises(ConfigurationError, match=why):
            Server.from_address(url)

    def test_password(self) -> None:
        """A password in an address is not repeated in the error."""
        with pytest.raises(ConfigurationError) as caught:
            Server.from_address("https://me:secret@chroma.example.org")

        assert "secret" not in str(caught.value)


class TestSweep:
    def test_what_lies_on_servers(self, tmp_path: Path) -> None:
        """Old folders go; one on the same server stays until the server has forgotten it."""
        url = "http://127.0.0.1:8000"
        for name, where in (("gen-1-aa", None), ("gen-2-bb", url), ("gen-3-cc", "http://[::1]:1")):
            (tmp_path / name).mkdir()
            if where:
                (tmp_path / name / MARKER).write_text(json.dumps({"url": where}))
        settings = StorageSettings(index="server", index_url=url)
        places = Generations(tmp_path, settings, ("cortex_insights",))
        place = places.find_place(IndexState(4, "m", 0, "dd"))
        places.prepare(place)
        places.sweep(place)

        assert {"gen-2-bb", "gen-4-dd"} == {path.name for path in tmp_path.iterdir()}
        assert {"-g2-bb": tmp_path / "gen-2-bb"} == places.list_remote(place)
        assert "-g4-dd" == place.as_params()["suffix"]
