"""`python -m cortex_actors` is the command line."""

from cortex_actors.cli.entry import main

if __name__ == "__main__":
    raise SystemExit(main())
