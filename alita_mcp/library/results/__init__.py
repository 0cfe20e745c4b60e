"""The cache of results: what a deterministic tool gave before for the same arguments."""
