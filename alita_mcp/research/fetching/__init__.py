"""A URL in, a document out: guarded requests, robots, the cache of pages."""
