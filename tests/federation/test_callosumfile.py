"""What is read of a Callosum's YAML, and what is refused before anything is made of it."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.errors import BadInput
from cortex_actors.federation.callosum import DEEPEST_FILE, LONGEST, read_text
from cortex_actors.federation.store import Auth, StoreSpec

_FILE = """\
server: {host: 0.0.0.0, port: 7423, bearer_token: s3cret}
federation:
  k: 30            # steeper
  fusion_mode: rrf_pct
  edges_enabled: no
  stores:
    - name: memory
      type: seren_memory
      url: http://127.0.0.1:7420/
      weight: 1.5
      bearer_token_keyring: seren-corpus-callosum/memory
    - {name: facts, type: seren_loci, url: "http://127.0.0.1:7422", token: s3cret, enabled: off}
    - {name: facts, type: seren_loci, url: "http://127.0.0.1:1"}
    - gone
"""

_BAD = {
    "an anchor": ("a: &x 1", "line 1 has an anchor"),
    "an alias": ("a: 1\nb: *x", "line 2 has an anchor or an alias"),
    "a bomb": ("a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b]", "line 1 has an anchor"),
    "an object": ("a: !!python/object/apply:os.system [ls]", "has a tag"),
    "a plain tag": ("a: !!str 1", "has a tag"),
    "flat depth": ("[" * 100_000, f"more than {DEEPEST_FILE} levels"),
    "block depth": ("- " * 40_000, f"more than {DEEPEST_FILE} levels"),
    "keys of keys": ("? " * 40_000, f"more than {DEEPEST_FILE} levels"),
    "a key twice": ("stores: [{name: a, name: b}]", "a key twice"),
    "two documents": ("--- {stores: []}\n--- {stores: []}", "no YAML, line 2"),
    "an open bracket": ("stores: [", "no YAML"),
    "a tab": ("stores:\n\t- a", "no YAML, line 2"),
    "a control character": ("stores: \x00", "no YAML"),
    "half a character": ("stores: \ud800", "a character that no text has"),
    "a long number": (f"stores: []\nk: {'9' * 5_000}", "a number that is none"),
    "nothing": ("", "no `federation`"),
    "too much": ("#" * (LONGEST + 1), "more than"),
}


class TestReading:
    def test_whole(self) -> None:
        """A file's stores are stores that were added, with the tokens they are to have."""
        found = read_text(_FILE)

        memory, facts = found.stores
        assert memory == StoreSpec(
            "memory",
            "seren_memory",
            "http://127.0.0.1:7420",
            weight=1.5,
            managed=True,
            auth=Auth(token_keyring="seren-corpus-callosum/memory"),
        )
        assert (Auth(token="s3cret"), False) == (facts.auth, facts.enabled)
        assert {"k": 30, "fusion_mode": "rrf_pct", "edges_enabled": False} == found.knobs
        assert ["facts", "entry 4", "server"] == [name for name, _ in found.skipped]
        assert "s3cret" not in repr(found)

    def test_overlay(self) -> None:
        """The file in which a Callosum keeps stores that were added is read as well."""
        rows = [{"name": "m", "type": "seren_memory", "url": "http://127.0.0.1:7420", "weight": 2}]
        found = read_text(json.dumps(rows, indent=2))

        assert [("m", 2.0)] == [(each.name, each.weight) for each in found.stores]

    def test_dates(self) -> None:
        """A word that looks like a date stays a word."""
        (store,) = read_text(
            "stores: [{name: 2026-01-01, type: a, url: b, since: 2026-13-45}]"
        ).stores

        assert ("2026-01-01", {"since": "2026-13-45"}) == (store.name, store.options)


class TestRefusing:
    @pytest.mark.parametrize("case", _BAD)
    def test_bad(self, case: str) -> None:
        """What is not plain YAML is refused, with the place and without what stands there."""
        text, why = _BAD[case]
        with pytest.raises(BadInput, match="cannot import stores: .*; ") as caught:
            read_text(text)

        assert why in str(caught.value)
        assert len(str(caught.value)) < 250

    @given(st.text(alphabet="ab:-[]{}?&*!|>'\"\n #,<1.~\t%@", max_size=60))
    def test_anything(self, text: str) -> None:
        """Whatever a file holds, it is read or refused; nothing else is raised."""
        with contextlib.suppress(BadInput):
            assert () == read_text(text).stores
