"""The benchmark of what people see of their projects: its parts, and a whole run on small ones."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import projects, repositories
from benchmarks.projects import PAIRS, Figure
from benchmarks.repositories import Plant, Setup, line_hash
from benchmarks.showing import KINDS, Life, Row, pair_hash

#: A repository of the loud part, and one of the quiet part.
LOUD, QUIET = "sample/one", "sample/three"

#: What two statements are to each other, and where one of them stands: a repository, file and line.
READ = {"contradiction", "duplicate", "related", "unrelated"}
PLACE = re.compile(r"[\w.-]+/[\w.-]+:.+:\d+")

TEXTS = {
    "CLAUDE.md": "# Work\n\n## Rules\n\n- Always use pnpm to install packages.\n- Write tests.\n",
    "AGENTS.md": "CLAUDE.md",
    ".github/copilot-instructions.md": "# Docs\n\n- Use sentence case for headings.\n",
}

PLANTED = Plant(
    id="p01",
    repo=LOUD,
    kind="choice",
    path=".github/copilot-instructions.md",
    line=3,
    line_hash=line_hash("- Use sentence case for headings."),
    against="CLAUDE.md",
    against_line=5,
    against_hash=line_hash("- Always use pnpm to install packages."),
    text="- Never use pnpm to install packages.",
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data set of two repositories that have the same files."""
    lines = []
    for repo in (LOUD, QUIET):
        for path, text in TEXTS.items():
            file = tmp_path / "data" / repo.replace("/", "__") / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            lines.append(json.dumps({"repo": repo, "path": path}))
    (tmp_path / "data/index.jsonl").write_text("\n".join(lines))
    return tmp_path / "data"


def written(path: Path, some: list[Plant]) -> Path:
    """Write down what is to be planted."""
    names = list(Plant.__dataclass_fields__)
    rows = ["\t".join(str(getattr(each, name)) for name in names) for each in some]
    path.write_text("\n".join(["\t".join(names), *rows]) + "\n")
    return path


class TestRepositories:
    def test_quiet(self) -> None:
        """The digest of its name says which part a repository is in."""
        assert [False, True] == [repositories.is_quiet(each) for each in (LOUD, QUIET)]

    def test_portfolios(self) -> None:
        """There are five of four to six repositories, and each is of one part as a whole."""
        found = repositories.read_portfolios()

        assert 5 == len(found)
        assert all(4 <= len(each.repos) <= 6 for each in found)
        assert all(1 == len({*map(repositories.is_quiet, each.repos)}) for each in found)
        assert 2 == sum(each.is_quiet for each in found)

    def test_copied(self, data: Path, tmp_path: Path) -> None:
        """A copy is a Git work tree in which links are links again."""
        index = repositories.read_index(data)
        root = repositories.copied(data, index, LOUD, tmp_path / "work")

        assert (root / ".git").is_dir()
        assert (root / "AGENTS.md").is_symlink()
        assert TEXTS["CLAUDE.md"] == (root / "AGENTS.md").read_text()

    def test_plant(self, data: Path, tmp_path: Path) -> None:
        """A sentence is written behind its line, and what it contradicts is found again."""
        root = repositories.copied(data, repositories.read_index(data), LOUD, tmp_path / "work")
        digest = line_hash("## Rules")
        above = replace(PLANTED, id="p02", path="CLAUDE.md", line=3, line_hash=digest)
        places = repositories.plant(root, [PLANTED, above])

        assert {"p01": ("CLAUDE.md", 6), "p02": ("CLAUDE.md", 6)} == places
        assert (
            PLANTED.text == (root / ".github/copilot-instructions.md").read_text().splitlines()[3]
        )

    def test_another_line(self, data: Path, tmp_path: Path) -> None:
        """Nothing is planted where a file is another one than was read."""
        root = repositories.copied(data, repositories.read_index(data), LOUD, tmp_path / "work")
        with pytest.raises(ValueError, match="line 4 of"):
            repositories.plant(root, [replace(PLANTED, line=4)])

    def test_shipped_plants(self) -> None:
        """At least sixty are shipped, half of them for the quiet part, each with its own id."""
        found = repositories.read_plants(Path(projects.__file__).parent / "plants.tsv")

        assert 60 <= len(found) == len({each.id for each in found})
        assert 2 * sum(repositories.is_quiet(each.repo) for each in found) >= len(found)


class TestFigures:
    def test_labels(self) -> None:
        """Shipped labels are digests, kinds and words that are known: no quotations."""
        kinds_read = {*KINDS, "agreement"}
        shown = ["hash", "kind", "label", "reader"], kinds_read, {projects.RIGHT, projects.WRONG}
        read = ["hash", "kind", "label", "sure", "reader", "cosine", "place_a", "place_b"]
        for path in projects.LABELS.glob("*.tsv"):
            names, kinds, labels = (read, {"pair"}, READ) if path.name == PAIRS else shown
            for row in repositories.rows(path):
                assert names == list(row)
                assert 16 == len(row["hash"]) == len(f"{int(row['hash'], 16):016x}")
                assert row["kind"] in kinds
                assert row["label"] in labels
                assert row.get("sure", "yes") in {"yes", "no"}
                assert re.fullmatch(r"[a-z]\d", row["reader"])
                assert all(PLACE.fullmatch(row.get(each, "o/n:p:1")) for each in read[-2:])
                assert -1 <= float(row.get("cosine", 0)) <= 1

    def test_pair(self) -> None:
        """Two texts have one digest, whichever comes first, however they are spaced."""
        assert pair_hash("Use  pnpm", "B") == pair_hash("b", "use pnpm")
        assert pair_hash("a", "b") != pair_hash("a", "c")

    def test_unlabelled(self) -> None:
        """What nobody labelled is shown, and counts for no precision."""
        rows = [Row("merge", name, "r", "", "", name, "", scope="file") for name in "abc"]
        labels = {("merge", "a"): True, ("merge", "b"): False, ("bullet", "c"): True}
        found = {each.kind.strip(): each for each in projects.figures(rows, labels)}

        assert Figure("merge", 3, 2, 1) == found["merge"]
        assert 0.5 == found["file"].precision
        assert 0 == found["bullet"].shown

    def test_interval(self) -> None:
        """The interval is Wilson's."""
        low, high = Figure("merge", 10, 10, 8).interval

        assert (0.49, 0.943) == (round(low, 3), round(high, 3))
        assert (0, 1) == Figure("merge", 1, 0, 0).interval

    def test_majority(self, tmp_path: Path) -> None:
        """Most readers decide; of as many it is wrong. Pairs to train on are no votes."""
        lines = ["hash\tkind\tlabel\treader"]
        for digest, labels in (("a", "right wrong right"), ("b", "right wrong")):
            lines += [f"{digest}\tmerge\t{label}\tr" for label in labels.split()]
        (tmp_path / "some.tsv").write_text("\n".join(lines))
        (tmp_path / PAIRS).write_text("hash\tkind\tlabel\nc\tpair\tduplicate\n")

        assert {("merge", "a"): True, ("merge", "b"): False} == projects.read_labels(tmp_path)


class TestPlanted:
    @pytest.mark.parametrize(("line", "told"), [(5, "p01"), (6, "p01?")])
    def test_found(self, line: int, told: str) -> None:
        """A planted sentence counts against the text that it was made for alone."""
        text = PLANTED.text.removeprefix("- ")
        place = f"{LOUD}:CLAUDE.md:{line}"
        rows = [
            Row("contradiction", "a", LOUD, "x", place, text, "Always use pnpm"),
            Row("contradiction", "b", LOUD, "x", place, "something that is not ours", "this"),
        ]
        life = projects.found_plants(Life(LOUD, rows), [PLANTED], {"p01": ("CLAUDE.md", 5)})

        assert [told] == [each.planted for each in life.rows]


class TestProjects:
    def test_chosen(self, data: Path) -> None:
        """Without a word only the loud part is run."""
        index = repositories.read_index(data)
        some = ["--data", str(data)]
        loud, quiet = Setup(LOUD, (LOUD,)), Setup(QUIET, (QUIET,))

        assert [loud] == projects.chosen(projects.parsed(some), index)
        assert [quiet] == projects.chosen(projects.parsed([*some, "--quiet"]), index)
        assert [loud, quiet] == projects.chosen(projects.parsed([*some, "--all"]), index)

    @pytest.mark.slow
    def test_run(self, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The benchmark follows a repository and shows what was planted in it."""
        plants, out = written(tmp_path / "plants.tsv", [PLANTED]), tmp_path / "rows.tsv"
        some = ["--data", str(data), "--provider", "hashing", "--days", "0"]
        code = projects.main([*some, "--plant", str(plants), "--out", str(out)])
        (row,) = repositories.rows(out)

        assert 0 == code
        assert ("contradiction", "p01") == (row["kind"], row["planted"])
        assert f"{LOUD}:.github/copilot-instructions.md:4" in (row["place_a"], row["place_b"])
        assert "planted, loud: 1 of 1 shown" in capsys.readouterr().out

        assert 0 == projects.main(["--rows", str(out)])
        assert ["contradiction", "1", "0", "1", "0", "-"] == _line(capsys.readouterr().out)


def _line(said: str) -> list[str]:
    """Return the words of the first line below the heading."""
    return said.splitlines()[1].split()
