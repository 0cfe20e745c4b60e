"""Rehearsal: stand-ins for everything that a draft asks for, so that nothing real is touched."""
