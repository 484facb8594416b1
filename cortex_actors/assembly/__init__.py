"""Wires the tree's actors together and reloads them when settings change.

May import the gateways, the operations and the branches; only the tree, the daemon and what is
above them import it.
"""
