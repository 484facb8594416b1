"""The judging branch: what the rules leave open is put to a model.

`judge` alone lives here. Below it are layers, none of them an actor: an entailment model (a
CrossEncoder in a child process) and a language model (behind an endpoint). Their trouble is a state
that they report, and no crash; a crash of the judge loses open questions and no verdict, because
verdicts are in the ledger. Nothing waits for the judge for long, and everybody does without it.
"""
