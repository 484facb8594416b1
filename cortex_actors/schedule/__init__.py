"""The schedule branch: what is done by the clock, whatever else happens.

Supervised `one_for_one`: one actor, which waits most of the time. It starts last and needs the
ledger: by name for the table of jobs, and its file, which it copies and checks on a thread and with
connections of its own.
"""
