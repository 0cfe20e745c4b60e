"""Failures of drafts: of what kind one is, and what may be told of it."""
