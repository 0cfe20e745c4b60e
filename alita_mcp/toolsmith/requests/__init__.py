"""Requests for tools, their outcomes, and the templates and drafts made of them."""
