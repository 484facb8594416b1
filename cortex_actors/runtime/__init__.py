"""Pykka on asyncio: actors with one task each, names that outlive them, children in processes.

Everything above this folder holds names, never refs: `names.Names` finds the actor of a name.
"""
