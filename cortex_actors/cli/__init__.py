"""The command line: a client of the control socket like any other.

`entry` decides what to load: `status`, `start`, `stop`, `restart` and `publish` (`fast`,
`lifecycle`) use the standard library alone; for everything else `command_line` builds the command
that is called out of `commands.json`, which `make docs` makes of the declarations (`declare`). One
module for one family of commands; none holds logic that another client would need.
"""
