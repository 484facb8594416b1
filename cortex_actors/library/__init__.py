"""The library: what a program calls to remember and to ask, with a daemon or with none.

The operations are written once, as coroutines over a door (`operations`, `talking`, `upkeep`,
`reading`, `carrying`); `Cortex` runs them to their end, `AsyncCortex` is awaited. A door leads to
the daemon's socket, or to a tree that lives in this process.
"""
