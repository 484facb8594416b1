"""Memories in the ledger: how they change, sink, merge and go; and the village.

It may import the rest of `storage` but `health`.
"""
