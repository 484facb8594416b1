from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.domain import event as shape
from cortex_actors.errors import BadInput

IDS = st.lists(st.text(max_size=5), max_size=4).map(tuple)
PAYLOADS = st.one_of(
    st.just(shape.Nothing()),
    st.builds(shape.ScanRequested, st.none() | st.text()),
    st.builds(shape.FileChanged, st.text(), st.text()),
    st.builds(shape.AccumulationComplete, st.text(), st.none() | st.text(), IDS),
    st.builds(shape.ResolutionRequested, st.text(), st.text(), st.booleans()),
    st.builds(shape.Ids, IDS),
    st.builds(shape.ActorLife, st.text(), st.text()),
    st.builds(shape.Custom, st.dictionaries(st.text(), st.integers() | st.none())),
)


class TestRoundTrip:
    @given(PAYLOADS)
    def test_json(self, payload: shape.Payload) -> None:
        """A payload comes back from JSON as it was."""
        fields = json.loads(json.dumps(shape.dump_payload(payload)))

        assert payload == shape.parse_payload(type(payload), fields)


class TestTyped:
    def test_defaults(self) -> None:
        """Fields with a default may be left out."""
        assert shape.ScanRequested(None) == shape.parse_payload(shape.ScanRequested, {})

    @pytest.mark.parametrize(
        ("kind", "fields", "text"),
        [
            (shape.FileChanged, {"project_id": "p"}, "the field 'path' is missing"),
            (shape.FileChanged, {"project_id": "p", "pth": ""}, "no field 'pth'; it takes project"),
            (shape.Nothing, {"x": 1}, "it takes no fields"),
            (shape.FileChanged, {"project_id": None, "path": ""}, "must be a string, not NoneType"),
            (shape.ScanRequested, {"project_id": 3}, "must be a string or null, not int"),
            (shape.Ids, {"ids": "abc"}, "must be a list of strings, not str"),
            (shape.Ids, {"ids": [1]}, "must be a list of strings"),
            (shape.ResolutionRequested, {"path": "p", "dry_run": 1}, "must be true or false"),
        ],
    )
    def test_wrong(self, kind: type[shape.Payload], fields: dict[str, object], text: str) -> None:
        """What is missing, unknown or of another type is named."""
        with pytest.raises(BadInput, match=text):
            shape.parse_payload(kind, fields)

    def test_words_for_true(self) -> None:
        """The command line's words for true and false are understood."""
        fields = {"path": "p", "dry_run": "true"}

        assert shape.parse_payload(shape.ResolutionRequested, fields).dry_run is True

    def test_custom(self) -> None:
        """A custom payload is any JSON object, and does not share it with its sender."""
        fields: dict[str, object] = {"a": [1, {"b": None}]}
        payload = shape.parse_payload(shape.Custom, fields)
        fields["a"] = 2

        assert {"a": [1, {"b": None}]} == shape.dump_payload(payload)


class TestMerged:
    @given(st.lists(IDS, min_size=1, max_size=5))
    def test_union(self, ids: list[tuple[str, ...]]) -> None:
        """No id is lost and none is there twice; the first order holds."""
        merged = shape.merge_payloads([shape.Ids(each) for each in ids])

        assert tuple(dict.fromkeys(one for each in ids for one in each)) == merged.ids

    @pytest.mark.parametrize("order", [(True, False), (False, True)])
    def test_what_wins(self, order: tuple[bool, bool]) -> None:
        """One of several requests that wants everything anew is enough, whichever came last."""
        asked = [shape.ReconciliationRequested(full=each, weigh=not each) for each in order]

        assert shape.ReconciliationRequested(full=True, weigh=True) == shape.merge_payloads(asked)

    @pytest.mark.parametrize("runs", [(True, False), (False, True)])
    def test_dry_run(self, runs: tuple[bool, bool]) -> None:
        """A dry run does not swallow a wish to write that waits with it."""
        wishes = [shape.ResolutionRequested("/a", dry_run=each) for each in runs]
        assert shape.ResolutionRequested("/a") == shape.merge_payloads(wishes)

    def test_newest(self) -> None:
        """What cannot be united is the newest event's."""
        runs = [shape.AccumulationComplete(f"run_{n}", "prj_1", (f"ins_{n}",)) for n in range(3)]

        expected = shape.AccumulationComplete("run_2", "prj_1", ("ins_0", "ins_1", "ins_2"))
        assert expected == shape.merge_payloads(runs)

    def test_several_projects(self) -> None:
        """Runs of several projects are no single project's."""
        runs = [shape.AccumulationComplete("run_1", f"prj_{n}") for n in range(2)]

        assert shape.merge_payloads(runs).project_id is None

    def test_nested_projects(self) -> None:
        """A file that two nested projects saw change stays a file of one of them."""
        seen = [shape.FileChanged("prj_outer", "/a"), shape.FileChanged("prj_inner", "/a")]

        assert shape.FileChanged("prj_inner", "/a") == shape.merge_payloads(seen)

    @given(PAYLOADS)
    def test_alone(self, payload: shape.Payload) -> None:
        """One alone is itself, with each id once."""
        once = shape.merge_payloads([payload])

        assert once == shape.merge_payloads([once])
