"""The federation branch: one question, every store.

Supervised `rest_for_one`: the roster knows the stores, the federation asks them.
"""
