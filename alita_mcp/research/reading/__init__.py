"""Bytes and their content type in, a document out: text, tables and links, read in a process of its own."""
