"""Extraction of text, tables and links from bodies, in a process of its own."""
