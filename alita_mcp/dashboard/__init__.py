"""Read-only dashboard of the library and its journal, at /ui."""
