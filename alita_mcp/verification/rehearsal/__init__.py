"""Rehearsal of drafts with stand-ins for all that they ask for, so that nothing real is touched."""
