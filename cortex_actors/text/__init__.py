"""What a text says: Markdown, statements, words, numbers, hazards and secrets, as pure functions.

May import the domain, errors and the clock; no files, no loop, no chance.
"""
