"""Projects at random that agree on some things, and what is left of one that is taken back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex_actors.domain.project import SourceKind
from tests.flow.downward import section

if TYPE_CHECKING:
    import random

    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.tree import Tree

_DOES = ("Rinse", "Sharpen", "Label", "Oil", "Weigh", "Stack", "Polish", "Measure")
_WHAT = ("copper kettle", "garden ladder", "linen sail", "brass lantern", "oak barrel", "felt hat")
_WHEN = ("before the harvest begins", "after every thunderstorm", "while the choir rehearses")

#: Where a text stays that nobody says any more: as history, for the day that the revocation is
#: lifted, and in the journal of what stood in files, for a month.
HISTORY = {("insights", "content"), ("file_writes", "before_bytes"), ("file_writes", "displaced")}


@dataclass(frozen=True, slots=True)
class Source:
    """What can be taken back: as a person names it, with the files it consists of."""

    kind: SourceKind
    word: str
    paths: frozenset[str]


class Village:
    """Projects in folders, each with one or two files that say some of the same things."""

    def __init__(self, folder: Path, dice: random.Random, *, projects: int, texts: int) -> None:
        """Write their files."""
        self._dice = dice
        every = [f"{does} the {what} {when}." for does in _DOES for what in _WHAT for when in _WHEN]
        self.texts = dice.sample(every, texts)
        self.roots = [folder.resolve() / f"house{number}" for number in range(projects)]
        self.files: dict[str, list[str]] = {}
        for root in self.roots:
            for name in ("CLAUDE.md", "docs/CLAUDE.md")[: dice.randint(1, 2)]:
                said = dice.sample(self.texts, dice.randint(2, texts // 2))
                self._write(root / name, said)

    def _write(self, path: Path, said: list[str]) -> None:
        """Let a file say texts."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("# House\n\n## Chores\n\n" + "".join(f"- {each}\n" for each in said))
        self.files[str(path)] = said

    def source(self, ids: dict[str, str]) -> Source:
        """Return something that can be taken back; `ids` are those of the texts."""
        kind = self._dice.choice([SourceKind.PROJECT, SourceKind.PATH, SourceKind.INSIGHT])
        if kind is SourceKind.INSIGHT:
            text = self._dice.choice(sorted(ids))
            return Source(kind, ids[text], frozenset())
        if kind is SourceKind.PATH:
            path = self._dice.choice(sorted(self.files))
            folder = str(Path(path).parent)
            is_folder = folder.endswith("docs") and self._dice.random() < 0.5
            return Source(kind, folder if is_folder else path, frozenset({path}))
        root = str(self._dice.choice(self.roots))
        return Source(kind, root, frozenset(each for each in self.files if each.startswith(root)))

    def only(self, source: Source, ids: dict[str, str]) -> set[str]:
        """Return the texts that nobody says without a source."""
        if source.kind is SourceKind.INSIGHT:
            return {text for text, name in ids.items() if name == source.word}
        others = {
            text for path, said in self.files.items() if path not in source.paths for text in said
        }
        return set(ids) - others

    def sections(self) -> dict[str, str]:
        """Return what stands between our marks in each file at a root."""
        return {str(root): section(root / "CLAUDE.md") for root in self.roots}


async def held(tree: Tree, texts: set[str]) -> set[tuple[str, str, str]]:
    """Return where the ledger holds texts, beside its history: table, column, text."""

    def look(connection: Connection) -> set[tuple[str, str, str]]:
        found = set()
        tables = connection.exec_driver_sql(
            "SELECT m.name, c.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c"
            " WHERE m.type = 'table' AND m.name NOT LIKE 'words_%'"
        ).all()
        for table, column in tables:
            if (table, column) in HISTORY:
                continue
            query = f'SELECT 1 FROM "{table}" WHERE instr(CAST("{column}" AS TEXT), ?) LIMIT 1'  # noqa: S608 - the schema's own names
            found |= {
                (table, column, text)
                for text in texts
                if connection.exec_driver_sql(query, (text,)).first()
            }
        return found

    return await tree.parts.records.read(look)


#: Everything that lifting a revocation has to bring back; no times, and no numbers of rows.
_KNOWN = (
    "SELECT id, status, superseded_by FROM insights",
    "SELECT said_id, path, line_start, project_id, withdrawn_at FROM insight_sources",
    "SELECT source_id, file_hash, at FROM observations",
    "SELECT id, content, category, status, origin, quality FROM principles",
    "SELECT principle_id, insight_id, weight FROM derivations",
    "SELECT item_id, place, text FROM passages",
)


async def known(tree: Tree) -> list[list[Any]]:
    """Return what is known, in an order of its own."""

    def look(connection: Connection) -> list[list[Any]]:
        return [
            sorted((tuple(row) for row in connection.exec_driver_sql(query)), key=repr)
            for query in _KNOWN
        ]

    return await tree.parts.records.read(look)


#: Principles and who says independently what they come of, one row for each; no row says nobody.
_SAID = (
    "SELECT p.id, s.project_id FROM principles AS p"
    " LEFT JOIN derivations AS d ON d.principle_id = p.id"
    " LEFT JOIN insights AS i ON i.id = d.insight_id"
    " LEFT JOIN insight_sources AS s ON s.insight_id = coalesce(i.superseded_by, i.id)"
    " AND s.withdrawn_at IS NULL"
)


async def unfounded(tree: Tree, least: int) -> set[str]:
    """Return the principles that fewer projects than that say."""

    def look(connection: Connection) -> set[str]:
        said: dict[str, set[str | None]] = {}
        for principle, project in connection.exec_driver_sql(_SAID):
            said.setdefault(principle, set()).add(project)
        return {name for name, some in said.items() if len(some - {None}) < least}

    return await tree.parts.records.read(look)
