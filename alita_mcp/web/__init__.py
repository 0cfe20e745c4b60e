"""Read-only page of the library and its journal, at /ui."""
