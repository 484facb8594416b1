"""The Python client: over the control socket, or with a tree inside of the caller's process.

May import the daemon, the operations and what is below them.
"""
