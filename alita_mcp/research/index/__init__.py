"""What a package index knows: projects and their releases, wheels that fit, names that look like well-known ones."""
