"""The first process inside a sandbox: it starts, limits and ends the others; standard library only."""
