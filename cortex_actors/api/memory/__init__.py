"""Operations on what agents say and read: memories, documents, the village, agents.

They may import `api` itself.
"""
