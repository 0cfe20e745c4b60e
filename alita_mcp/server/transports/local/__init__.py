"""One server for all of a person's clients, through a local socket: the relay that clients start, and the server."""
