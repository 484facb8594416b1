"""The command line: a client of the control socket like any other.

`entry` decides what to load: `status`, `start`, `stop`, `restart` and `publish` (`fast`,
`lifecycle`) use the standard library alone; everything else loads Typer and Rich (`app`). One
module for one family of commands; none holds logic that another client would need.
"""
