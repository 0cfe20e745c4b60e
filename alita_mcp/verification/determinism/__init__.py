"""Determinism gate: repeats calls and compares their results."""
