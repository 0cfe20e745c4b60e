"""Grants: what a person allows a version or a piece of code, in files that only that person writes."""
