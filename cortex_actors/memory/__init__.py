"""The memory branch: what agents remember, tell one another and leave for their next session.

Supervised `one_for_one`: the archivist remembers, the village speaks, the trail keeps crumbs, the
custodian lets things sink in or fade, the librarian reads documents; none needs another.
"""
