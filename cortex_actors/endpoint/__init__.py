"""Requests to an endpoint that speaks OpenAI's protocol: a layer without actors.

An address that is checked first, one client with its connections, repetitions with growing pauses
and a circuit breaker. What is asked and how an answer is read belongs to the branch that asks.
"""
