"""Recorded exchanges with models, and replies that are kept to be given again."""
