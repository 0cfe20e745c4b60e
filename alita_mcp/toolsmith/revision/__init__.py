"""Revision of a published tool by models, from a complaint about it."""
