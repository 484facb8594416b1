"""Operations on the daemon itself, its models, its stores and other programs.

They may import all of `api`.
"""
