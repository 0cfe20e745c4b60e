"""Revision of a published tool: a complaint in, its next version out."""
