"""The catalogue of all tools: SQLite tables with a row for each version, and readers that follow them."""
