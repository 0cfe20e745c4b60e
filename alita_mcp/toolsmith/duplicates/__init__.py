"""Detection of existing tools that already do what a request asks for."""
