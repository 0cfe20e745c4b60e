"""Checks that an answer rests on observations."""
