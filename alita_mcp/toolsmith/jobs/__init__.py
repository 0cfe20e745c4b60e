"""Background jobs of long calls, and their entries in the journal."""
