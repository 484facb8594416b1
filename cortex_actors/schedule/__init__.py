"""The schedule branch: what is done by the clock, whatever else happens.

Supervised `one_for_one`: one actor, which waits most of the time. It starts last and needs the
ledger's file, which it reads on a thread and connections of its own.
"""
