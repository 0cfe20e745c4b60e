"""HTTP API for programs that speak no MCP: tasks over plain HTTP, described by OpenAPI."""
