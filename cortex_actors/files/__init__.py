"""Reads and writes files of people: compare-and-swap, journal of writes, ignore rules, git origins.

May import render, rules, text, the domain and what is below them.
"""
