"""Catalogue of all tools: SQLite tables with a row for each version, and readers of them."""
