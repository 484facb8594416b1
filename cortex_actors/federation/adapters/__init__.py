"""One module for each kind of store that a question can be sent to.

Each imports the store protocol, the guarded HTTP client and one library at most.
"""
