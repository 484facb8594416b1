"""What a table with vectors is asked, as SQL: names are checked and quoted, values are bound. Pure.

The operators are named with the schema in which the extension was found: what a `search_path` puts
before it is not called.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cortex_actors.errors import StoreUnusable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: What the distances are called, and pgvector's operators for them; the first is the default.
DISTANCES: Mapping[str, str] = {"cosine": "<=>", "l2": "<->", "ip": "<#>"}

#: Characters of a text, of an id (one more than any may have) and of the metadata of one row that
#: are read.
TEXT_LIMIT, ID_LIMIT, METADATA_LIMIT = 8_192, 257, 16_384

#: The types of columns that hold vectors of numbers.
_VECTORS = frozenset({"vector", "halfvec"})

#: A name that PostgreSQL takes, as long as it may be; quoted it may be more, which nobody has.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]{0,62}\Z")

#: Names of columns that an error lists.
_LISTED = 30


@dataclass(frozen=True, slots=True)
class Layout:
    """What a table turned out to be.

    Attributes:
        type: the type of its vectors, quoted, with its schema.
        schema: that schema, quoted: the operators are there as well.
        dimension: how many numbers they have; None where the column does not say.

    """

    type: str
    schema: str
    dimension: int | None


@dataclass(frozen=True, slots=True)
class Reading:
    """Which columns of which table are read; every name is quoted already."""

    table: str
    id: str
    text: str
    vector: str
    distance: str
    metadata: tuple[str, ...] = ()
    where: Mapping[str, object] = field(default_factory=dict, hash=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that have to be there."""
        return (self.id, self.text, self.vector, *self.metadata, *self.where)

    def columns(self) -> tuple[str, dict[str, Any]]:
        """Return what asks for the columns of the table."""
        query = (
            "SELECT a.attname, t.typname, n.nspname, a.atttypmod FROM pg_catalog.pg_attribute a "
            "JOIN pg_catalog.pg_type t ON t.oid = a.atttypid "
            "JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace "
            "WHERE a.attrelid = pg_catalog.to_regclass(%(table)s) "
            "AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
        )
        return query, {"table": self.table}

    def embedding(self, layout: Layout, function: str, question: str) -> tuple[str, dict[str, Any]]:
        """Return what asks a function for the vector of a question."""
        query = f"SELECT CAST(CAST({function}(%(question)s::text) AS {layout.type}) AS text)"
        return query, {"question": question}

    def query(self, layout: Layout, vector: str, limit: int) -> tuple[str, dict[str, Any]]:
        """Return what asks for the rows that are nearest to a vector."""
        operator = f"OPERATOR({layout.schema}.{DISTANCES[self.distance]})"
        far = f"({self.vector} {operator} CAST(%(vector)s AS {layout.type}))"
        # pgvector has the negative inner product; 1 - product is what Chroma calls its distance,
        # and for vectors of length 1 the same as the cosine's.
        shown = f"1 + {far}" if self.distance == "ip" else far
        kept = [f"{self.vector} IS NOT NULL"]
        kept += [f"{name} = %(where{n})s" for n, name in enumerate(self.where)]
        query = (
            f"SELECT left({self.id}::text, {ID_LIMIT}), left({self.text}::text, {TEXT_LIMIT}), "  # noqa: S608 - checked and quoted
            f"{shown}, {self._metadata()} FROM {self.table} "
            f"WHERE {' AND '.join(kept)} ORDER BY {far} LIMIT %(limit)s"
        )
        bound = {f"where{n}": value for n, value in enumerate(self.where.values())}
        return query, {"vector": vector, "limit": limit, **bound}

    def _metadata(self) -> str:
        """Return what makes one text of the columns that are read beside."""
        if not self.metadata:
            return "NULL"
        pairs = ", ".join(f"'{name.strip(chr(34))}', {name}" for name in self.metadata)
        made = f"jsonb_build_object({pairs})::text"
        return f"CASE WHEN length({made}) <= {METADATA_LIMIT} THEN {made} END"


def name_of(written: str, *, most: int = 1) -> str:
    """Return a name, quoted; with `most` 2 a schema may stand before it.

    Raises `StoreUnusable` for anything that is no plain name: nothing of a description gets into a
    statement unread.
    """
    parts = written.split(".")
    if len(parts) > most or not all(_NAME.match(part) for part in parts):
        raise StoreUnusable(
            f"{written[:80]!r} is no name of a {'table' if most > 1 else 'column'}: letters, "
            f"digits and _{', with a schema and a dot before it at most' if most > 1 else ''}"
        )
    return ".".join(f'"{part}"' for part in parts)


def read_layout(rows: Sequence[Sequence[Any]], reading: Reading) -> Layout:
    """Return what a table is; raises `StoreUnusable` for one that cannot be asked."""
    if not rows:
        raise StoreUnusable(f"it has no table {reading.table}, or we may not see it")
    found = {f'"{name}"': (type_, schema, size) for name, type_, schema, size in rows}
    missing = [name for name in reading.names if name not in found]
    if missing:
        there = ", ".join(str(name) for name, *_ in rows[:_LISTED])
        raise StoreUnusable(
            f"its table {reading.table} has no column {', '.join(missing)}; it has {there}"
        )
    type_, schema, size = found[reading.vector]
    if type_ not in _VECTORS:
        raise StoreUnusable(
            f"its column {reading.vector} holds {type_} and no vectors; set options.vector to one "
            "that does"
        )
    quoted = '"' + schema.replace('"', '""').replace("%", "%%") + '"'  # psycopg reads %
    return Layout(f'{quoted}."{type_}"', quoted, size if size > 0 else None)
