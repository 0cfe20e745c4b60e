"""The linter for words that a model will read."""
