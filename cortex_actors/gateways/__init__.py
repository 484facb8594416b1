"""The gateways branch: doors for other programs, opened last and closed first.

Supervised `one_for_one`: one server and one actor, `http`, which owns it. What fails here costs
only the requests that it works on. The libraries of a server are imported on a thread, and only
while a door is open.
"""
