"""What one daemon process needs outside of its tree: lock, tokens, logs, watch on the loop.

May import topics, settings, the runtime and what is below them.
"""
