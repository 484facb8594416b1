"""Compares ledger, index and files, and repairs what can be made again.

May import storage, files, text and what is below them; runs with or without a daemon.
"""
