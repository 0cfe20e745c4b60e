"""Linter for texts that a model will read."""
