"""What a call with network access goes through: the proxy, its host patterns, limits and address rules."""
