"""The storage branch: the ledger, the vector index, and what keeps the two the same.

Supervised `rest_for_one`: the indexer is useless without the index, and both without the ledger.
The ledger is the store of record; whatever else lies here can be deleted and comes back from it.
Unit-of-work functions (`insights.py`, `projects.py` ...) take the connection of the transaction
they are part of and run on the ledger's own thread. This folder is the one door to SQLAlchemy,
Alembic and (in the child) Chroma.
"""
