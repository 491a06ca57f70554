"""Pairs the instructions of two modules that do the same work."""
