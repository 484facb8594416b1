"""Commands about memories, documents and agents, and the one that asks everything.

They may import `cli` itself and `cli.pipeline`.
"""
