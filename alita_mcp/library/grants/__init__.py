"""Grants that a person gives to versions of tools and to pieces of code."""
