"""Slow NumPy reference versions, written from the paper alone, to test against."""
