"""Compares ledger, index and files, repairs what can be made again, and lints instruction files.

May import storage, files, rules, text and what is below them; runs with or without a daemon.
"""
