"""Requests for tools and their outcomes, as values; templates and drafts made of them."""
