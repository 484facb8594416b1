"""The bus: topics on blinker signals, mailboxes behind them, durable events underneath.

A durable event is a row before it is a signal: the signal only wakes those who then read the row.
This folder is the one door to blinker.
"""
