"""Recorded runs of code, kept on disk within bounds or in memory only."""
