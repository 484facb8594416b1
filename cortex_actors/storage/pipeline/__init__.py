"""What files say, in the ledger: insights, principles and what people decided of them.

It may import the rest of `storage` but `memory` and `search`.
"""
