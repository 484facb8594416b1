"""The embedding branch: texts become unit vectors.

`cache` (a true LRU, in front of the ledger's stored vectors) and below it `pool` (batches, one at a
time, the waiting person first). They die together downwards: the pool answers the cache, so a cache
that starts afresh gets a pool with nothing in hand, while a pool that crashes leaves the cache and
its vectors alone. The model itself is in neither: it runs in a child process, whose death is a
state that a provider reports and mends, and no actor's crash.
"""
