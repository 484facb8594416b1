"""Search: what is nearest to a question among everything the ledger has.

`search` asks and fuses; `dense` compares vectors, `words` looks words up; `scope` says what may be
found at all, `ranking` where each list puts an item, `hits` what a person is shown of it. Nothing
here writes, but for having made again what is found damaged; so nothing here can be lost.
"""
