"""What MCP clients see: definitions, dispatch, transports, admission."""
