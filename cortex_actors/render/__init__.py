"""Turns knowledge into text: sections for each agent's files, graphs, crumbs. Pure functions.

May import text, rules, the domain and what is below them.
"""
