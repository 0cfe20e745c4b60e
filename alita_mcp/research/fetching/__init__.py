"""Fetching of web documents: guarded requests, robots.txt, the page cache."""
