"""Knowledge about a connected client: its identity, how it keeps its list of tools, how long it waits."""
