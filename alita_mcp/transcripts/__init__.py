"""Transcripts of coding agents: finds the Python that session files show as executed. Nothing runs here."""
