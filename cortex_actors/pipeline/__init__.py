"""The pipeline branch: files become insights, insights are compared, the best become principles.

Supervised `one_for_one`: the stages share nothing but the ledger, so one that crashes comes back
alone and the events it has not handled wait for it.
"""
