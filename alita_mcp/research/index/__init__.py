"""Names of packages: well-known ones, and those that imitate them."""
