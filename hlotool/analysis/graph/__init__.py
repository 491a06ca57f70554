"""What runs, in which order and how often: the shape of a program, before any figure of it.

backend      who wrote a module, its memory spaces, and what passes the host
calls        all calls of a module, and an order with callees first
executions   how often each computation runs, and a loop its body, followed to its constants
equality     fingerprints of computations, and numbers of values
"""
