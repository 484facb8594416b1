"""Alembic's scripts: how a ledger of any earlier version becomes one of this version."""
