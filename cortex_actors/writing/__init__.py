"""Writing into a human's file, so that nothing of his is ever lost: a layer without actors.

It knows files and nothing of what is in the ledger: whoever writes hands in a `Journal`, in which a
write is noted before the file is touched. It stands below the branches because the resolver is not
the only one that has to know it: recovery and tests do, too. Everything that waits for a disk runs
on the threads of whoever writes; a crash at any step leaves a whole file and a row by which the
next start finishes the write or takes it back.
"""
