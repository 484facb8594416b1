"""The ledger's tables, as `schema.sql` beside this file declares them; what for: docs/ledger.md.

Nothing is declared here: the statements are read into SQLAlchemy's tables, and each gets its name,
under which the code asks for it. What the reader does not understand is refused at once, so that
no line is passed over. A file of ours needs no parser of SQL (decision 34).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy.types import REAL

from cortex_actors.storage.tables.columns import Text
from cortex_actors.storage.tables.dialect import UNNUMBERED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.schema import SchemaItem

#: Every table of the ledger.
metadata = sa.MetaData()

_KINDS = {
    "TEXT": Text,
    "JSON": sa.JSON,
    "REAL": REAL,
    "INTEGER": sa.Integer,
    "BLOB": sa.LargeBinary,
}

_TABLE = re.compile(r"CREATE TABLE (\w+) \(\n    (.+)\n\)" + f"({UNNUMBERED})?", re.DOTALL)
_INDEX = re.compile(r"CREATE (UNIQUE )?INDEX (\w+) ON (\w+) \((.+?)\)(?: WHERE (.+))?")
_OTHER = re.compile(r"CREATE (?:VIEW|VIRTUAL TABLE) .+")

_COLUMN = re.compile(
    r"(\w+) (TEXT|JSON|REAL|INTEGER|BLOB)(?: DEFAULT (\S+))?( NOT NULL)?"
    r"( PRIMARY KEY AUTOINCREMENT)?(?: CHECK \((.+)\))?"
)
_CHECK = re.compile(r"CONSTRAINT (\w+) CHECK \((.+)\)")
_KEY = re.compile(r"(PRIMARY KEY|UNIQUE) \((.+)\)")
_FOREIGN = re.compile(r"FOREIGN KEY \((\w+)\) REFERENCES (\w+) \((\w+)\)")


def read(sql: str, into: sa.MetaData) -> None:
    """Make what the statements declare, in the form described at the top of `schema.sql`.

    Views and full-text tables are made as they are there, in SQLite. Raises `ValueError` for a
    statement or a part of a table in another form.
    """
    for statement in re.sub(r"^ *--.*\n", "", sql, flags=re.MULTILINE).split(";\n"):
        flat = re.sub(r"\n +", " ", statement.strip())
        if found := _TABLE.fullmatch(statement.strip()):
            name, parts, without = found.groups()
            items = list(map(_part, re.split(r",\n    (?! )", parts)))
            numbered = "AUTOINCREMENT" in parts
            sa.Table(
                name, into, *items, sqlite_with_rowid=not without, sqlite_autoincrement=numbered
            )
        elif found := _INDEX.fullmatch(flat):
            unique, name, table, columns, where = found.groups()
            held = [into.tables[table].c[each] for each in _names(columns)]
            only = sa.text(where) if where else None
            sa.Index(name, *held, unique=bool(unique), sqlite_where=only)
        elif _OTHER.fullmatch(flat):
            made = sa.DDL(flat)  # type: ignore[no-untyped-call]
            sa.event.listen(into, "after_create", made.execute_if(dialect="sqlite"))
        elif flat:
            raise ValueError(f"the schema has a statement that is not understood: {flat}")


def _part(lines: str) -> SchemaItem:
    """Return the column or the constraint that some lines of a table declare."""
    part = re.sub(r"\n +", " ", lines)
    if found := _CHECK.fullmatch(part):
        return sa.CheckConstraint(found[2], name=found[1])
    if found := _KEY.fullmatch(part):
        make = sa.UniqueConstraint if found[1] == "UNIQUE" else sa.PrimaryKeyConstraint
        return make(*_names(found[2]))
    if found := _FOREIGN.fullmatch(part):
        return sa.ForeignKeyConstraint([found[1]], [f"{found[2]}.{found[3]}"])
    if found := _COLUMN.fullmatch(part.replace('"', "")):
        name, kind, default, filled, numbered, check = found.groups()
        return sa.Column(
            name,
            _KINDS[kind],
            *([sa.CheckConstraint(check)] if check else []),
            nullable=not filled,
            primary_key=bool(numbered),
            server_default=sa.text(default) if default else None,
        )
    raise ValueError(f"the schema has a part of a table that is not understood: {part}")


def _names(columns: str) -> Iterator[str]:
    """Yield the columns of a list, without the quotation marks of words that SQL knows."""
    return (each.strip('"') for each in columns.split(", "))


_SQL = Path(__file__).with_suffix(".sql").read_text("utf-8")
read(_SQL, metadata)


def __getattr__(name: str) -> sa.Table:
    """Return the table of that name, as `schema.sql` makes it: `from ...schema import insights`.

    Raises `AttributeError`, which an import makes an `ImportError`, for a table that is not there.
    """
    if name not in metadata.tables:
        raise AttributeError(f"the ledger has no table {name}")
    return metadata.tables[name]


_FULL_TEXT = re.findall(
    r"CREATE VIRTUAL TABLE (\w+) USING fts5\(text, content='(\w+)'[^;]*\stokenize='(.+)'\)", _SQL
)

#: The full-text tables: the list of a search -> the view with the texts that its words come from.
WORDS = {words: view for words, view, _ in _FULL_TEXT}

#: How they cut a text into words: English endings and accents make no difference.
TOKENIZE = _FULL_TEXT[0][2]
