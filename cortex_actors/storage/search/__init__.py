"""Search: what is nearest to a question among everything the ledger has, or had.

`search` asks and fuses; `dense` compares vectors, `words` looks words up, `past` reads memories of
another time; `scope` says what may be found at all and `presence` how much attention it has,
`ranking` where each list puts an item, `hits` what a person is shown of it and `remembered` what of
a memory. Nothing here writes, but for having made again what is found damaged; so nothing here can
be lost.
"""
