"""The SQLite ledger: its actor, its one writer, backups, recovery, migrations.

May import the schema, the bus, the runtime and what is below them; nothing else opens the ledger.
"""
