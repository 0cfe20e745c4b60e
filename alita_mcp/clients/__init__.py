"""MCP clients: where each keeps its configuration, and edits of those files that leave every other byte alone."""
