"""`cortex doctor`: compares ledger, index and files, and mends what can be made again.

Nobody lives here. The checks are functions that look and yield diagnoses; one list in `rounds.py`
names them all. They run on a thread of their own, on connections of their own, with a daemon or
without; only what they mend goes through whoever may write.
"""
