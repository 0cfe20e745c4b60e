"""Detection of a tool that does already what is asked for."""
