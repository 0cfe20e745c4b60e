"""Search back ends of the web agent, one file each, and their merged search."""
