"""Memory of earlier runs: episodes, facts and recipes, without secrets, bounded, in SQLite."""
