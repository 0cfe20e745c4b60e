"""Entry point of the .mcpb bundle."""

from alita_mcp.server.transports.entry import main

if __name__ == "__main__":
    main()
