"""The demo: a real client, a real server, the whole life of a tool."""
