"""MCP server: definitions, dispatch, transports, admission."""
