"""The watching branch: which projects are followed, and one watcher for each of them.

Supervised `one_for_one`: a watcher that fails is one project's trouble. Watchers are added and
removed while the daemon runs. This folder is the one door to watchfiles.
"""
