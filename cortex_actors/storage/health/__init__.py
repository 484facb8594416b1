"""Checks of what the ledger holds, and the units of work that mend it; no actors.

Each check is a function over a connection that only reads, and yields diagnoses. `cortex doctor`
runs them, whether a daemon has the ledger open or not.
"""
