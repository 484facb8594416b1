"""The gateways branch: doors for other programs, opened last and closed first.

Supervised `one_for_one`: one server and one actor, `http`, which owns it. What fails here costs
the requests in hand and nobody else anything. The libraries of a server are imported on a thread,
and only while a door is open.
"""
