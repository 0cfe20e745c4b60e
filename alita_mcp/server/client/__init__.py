"""Knowledge about a connected client: its identity, its list of tools, whether it timed out."""
