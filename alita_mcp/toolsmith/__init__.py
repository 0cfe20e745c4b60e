"""Synthesis of tools: from a request to a published version."""
