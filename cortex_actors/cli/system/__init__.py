"""Commands about the daemon, its backups, models and stores; the doctor and the demonstration.

They may import all of `cli`.
"""
