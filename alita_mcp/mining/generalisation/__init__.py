"""Generalisation of runs of like programs to one typed function."""
