from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

import pytest
from pydantic import ValidationError

from cortex_actors.errors import ConfigurationError
from cortex_actors.home import Home
from cortex_actors.settings import Settings, load

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Give a home without a settings file."""
    return Home(tmp_path)


class TestLoad:
    def test_defaults(self, home: Home) -> None:
        """Without a file and variables the documents' numbers hold."""
        settings = load(home)

        assert Settings() == settings
        assert (20, 500, 10_000) == (
            settings.embedding.batch_items,
            settings.embedding.batch_ms,
            settings.embedding.cache_entries,
        )
        assert (1.0, 5.0, 30.0, 120.0) == settings.events.pauses_s

    def test_file(self, home: Home) -> None:
        """What the file says holds, and the rest of its section stays as it was."""
        home.settings.write_text("[embedding]\nbatch_ms = 7\n")

        assert 7 == load(home).embedding.batch_ms
        assert 20 == load(home).embedding.batch_items

    def test_environment_wins(self, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        """A variable wins over the file, key by key."""
        home.settings.write_text("[embedding]\nbatch_ms = 7\nbatch_items = 3\n")
        monkeypatch.setenv("CORTEX_EMBEDDING__BATCH_MS", "9")
        monkeypatch.setenv("CORTEX_EVENTS__PAUSES_S", "[2, 4]")

        assert 9 == load(home).embedding.batch_ms
        assert 3 == load(home).embedding.batch_items
        assert (2.0, 4.0) == load(home).events.pauses_s

    def test_other_variables(self, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        """Variables that are no settings are none of its business."""
        monkeypatch.setenv("CORTEX_HOME", "/somewhere")
        monkeypatch.setenv("CORTEX_TEST_DATA", "/elsewhere")

        assert Settings() == load(home)

    @pytest.mark.parametrize(
        ("url", "why"),
        [
            ("http://chroma.example.org:8000", "a tunnel that ends on 127.0.0.1"),
            ("https://me:hunter2@chroma.example.org", "no user, path or query"),
            ("http://:8000", "http://host:port"),
            ("ftp://localhost", "string should match"),
        ],
    )
    def test_server(self, home: Home, url: str, why: str) -> None:
        """An index server that could never be used is refused with the mend, but no password."""
        home.settings.write_text(f'[storage]\nindex = "server"\nindex_url = "{url}"\n')

        with pytest.raises(ConfigurationError, match=why) as caught:
            load(home)
        assert "storage.index_url" in str(caught.value)
        assert ":hunter2@" not in str(caught.value)

    def test_frozen(self, home: Home) -> None:
        """What an actor was handed cannot change under it."""
        settings = load(home)
        with pytest.raises(ValidationError, match="frozen"):
            settings.embedding.batch_ms = 1  # type: ignore[misc]


class TestMistakes:
    @pytest.mark.parametrize(
        ("text", "named"),
        [
            ("[embedding]\nmodle = 'x'", "embedding.modle"),
            ("[embeding]\nmodel = 'x'", "embeding"),
            ("[embedding]\nbatch_items = 0", "embedding.batch_items"),
            ("[embedding]\nprovider = 'magic'", "embedding.provider"),
            ("embedding = 3", "embedding"),
            ("[events]\npauses_s = []", "events.pauses_s"),
            ("[events]\npauses_s = [1, 900]", "events.pauses_s"),
            ("[storage]\nindex_batch = 5001", "storage.index_batch"),
            ("[storage", "cortex.toml"),
        ],
    )
    def test_file(self, home: Home, text: str, named: str) -> None:
        """A mistake in the file is an error that names the file and the key."""
        home.settings.write_text(text)
        with pytest.raises(ConfigurationError) as caught:
            load(home)

        assert named in str(caught.value)
        assert str(home.settings) in str(caught.value)

    def test_token(self, home: Home) -> None:
        """A store's token is in no error and in no traceback, whatever is wrong beside it."""
        entry = '[[federation.stores]]\nname = "a"\nurl = "http://h"\ntoken = "s3cr3t"\n'
        for text in (entry, f'{entry}type = "t"\n' * 2, entry.replace('"s3cr3t"', '["s3cr3t"]')):
            home.settings.write_text(text)
            with pytest.raises(ConfigurationError) as caught:
                load(home)

            assert "s3cr3t" not in "".join(traceback.format_exception(caught.value))
            assert "CORTEX_FEDERATION__STORES__" not in str(caught.value)

    @pytest.mark.parametrize("key", ["token", "token_env", "token_keyring"])
    def test_spelling(self, home: Home, key: str) -> None:
        """A token's keys may be spelt in either way, and one that is empty does not count."""
        entry = '[[federation.stores]]\nname = "a"\ntype = "t"\n'
        home.settings.write_text(f'{entry}{key} = ""\nbearer_{key} = "a/b"\n')
        (store,) = load(home).federation.stores

        assert "a/b" == getattr(store, key)

    def test_no_list(self, home: Home) -> None:
        """A ranking of one's own needs a list to rank by."""
        lists = ("dense_alone", "words_alone", "dense_paired", "words_paired")
        keys = [f"weight_{name} = 0" for name in lists]
        home.settings.write_text("\n".join(["[memory]", 'profile = "custom"', *keys]))
        with pytest.raises(ConfigurationError, match="at least one weight"):
            load(home)

    def test_not_utf_8(self, home: Home) -> None:
        """A file that is not text is an error and not a traceback."""
        home.settings.write_bytes(b"\xff\xfe")
        with pytest.raises(ConfigurationError, match="cannot read the settings"):
            load(home)

    @pytest.mark.parametrize(
        ("variable", "value"),
        [
            ("CORTEX_EMBEDDING__MODLE", "x"),
            ("CORTEX_EMBEDING__MODEL", "x"),
            ("CORTEX_EMBEDDING__BATCH_ITEMS", "many"),
        ],
    )
    def test_variable(
        self, home: Home, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
    ) -> None:
        """A misspelt or unusable variable is an error that names it."""
        monkeypatch.setenv(variable, value)
        with pytest.raises(ConfigurationError, match=variable):
            load(home)

    def test_section(self, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where settings of a section do not go together, none of its variables is blamed alone."""
        monkeypatch.setenv("CORTEX_MEMORY__MERGE_NEVER", "0.95")
        with pytest.raises(ConfigurationError, match=r"in the variable CORTEX_MEMORY__\.\.\.$"):
            load(home)
        monkeypatch.setenv("CORTEX_MEMORY", "7")
        with pytest.raises(ConfigurationError, match="in the variable CORTEX_MEMORY$"):
            load(home)

    def test_no_json(self, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        """A list that is not JSON is an error that shows how to write one."""
        monkeypatch.setenv("CORTEX_EVENTS__PAUSES_S", "1,5")
        with pytest.raises(ConfigurationError, match="as JSON"):
            load(home)
