"""Driver scripts of the peers, each started by the Python of a peer's own virtual environment."""
