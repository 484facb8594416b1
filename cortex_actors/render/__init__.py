"""Turns knowledge into text: sections for each agent's files, crumbs. Pure functions.

May import text, rules, the domain and what is below them.
"""
