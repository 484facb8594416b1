"""The operations, each of them once, and the shapes of what they answer.

May import the branches, the doctor, storage and what is below them; gateways and clients call it.
"""
