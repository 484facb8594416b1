"""The version of the ledger's schema, apart from the tables: it costs no import of SQLAlchemy."""

from __future__ import annotations

#: What `PRAGMA user_version` holds when this code and the ledger agree.
SCHEMA_VERSION = 7
