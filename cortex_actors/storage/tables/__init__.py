"""The tables of the ledger, one kind of thing a file; `schema.py` has them all.

Nothing here runs: columns, keys, and what the rows of a table may never be.
"""
