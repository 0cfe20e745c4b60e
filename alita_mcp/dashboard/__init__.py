"""The page for people at /ui: the library and its journal, read-only."""
