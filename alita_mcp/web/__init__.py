"""Web pages at /ui: ask, activity, library, decisions, gaps, worth, health."""
