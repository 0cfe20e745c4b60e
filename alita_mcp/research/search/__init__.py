"""Search back ends of the web agent, one file each, and what makes one search of them."""
