"""Mutation gate: tests whether the examples notice small mistakes in the code."""
