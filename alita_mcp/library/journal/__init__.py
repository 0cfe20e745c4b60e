"""The journal: calls, searches and what happened to tools; and which capabilities are missing."""
