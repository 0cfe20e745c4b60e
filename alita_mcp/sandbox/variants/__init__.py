"""Sandboxes made of another one, or of scripted results."""
