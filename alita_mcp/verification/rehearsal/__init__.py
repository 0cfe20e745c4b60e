"""Rehearsal of calls with stand-ins for everything that a draft asks for."""
