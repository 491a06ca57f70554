"""What runs, in which order and how often: the shape of a program, before any figure of it.

backend      who wrote a module, its memory spaces, and what passes the host
calls        all calls of a module, and an order with callees first
trip_counts  how often a loop runs its body, followed to its constants
executions   how often each computation runs
equality     fingerprints of computations, and numbers of values
"""
