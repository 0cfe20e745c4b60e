"""Recorded exchanges with models, and the cache of their replies."""
