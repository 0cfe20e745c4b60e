"""The demo: the whole life of a tool, played by an MCP client against a server process."""
