"""Package index: projects, releases, fitting wheels, and names that imitate well-known ones."""
