"""Commands about projects, their files and what they say.

They may import `cli` itself.
"""
