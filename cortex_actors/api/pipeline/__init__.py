"""Operations on what files say: insights, contradictions, principles, the review, resolving.

They may import `api` itself.
"""
