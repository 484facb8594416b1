"""The vector index: a Chroma process, its generations, and what is still to be indexed.

May import the ledger, the schema, the runtime and what is below them.
"""
