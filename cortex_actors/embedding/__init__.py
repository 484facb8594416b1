"""The embedding branch: texts become unit vectors.

`cache` (a true LRU, in front of the ledger's stored vectors), below it `pool` (batches in two
lanes, the waiting person's first), and last `migrator` (which model answers, and how another one
comes to). They die together downwards: the pool answers the cache, so a cache that starts afresh
gets an empty pool, while a pool that crashes leaves the cache and its vectors alone.
The model itself is in none of them: it runs in a child process, on threads of its own or behind an
address, and its trouble is a state that a provider reports and mends, and no actor's crash.
"""
