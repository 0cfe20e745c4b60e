"""Pages, a module each."""
