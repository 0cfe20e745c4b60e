"""Network access of calls: the proxy, host patterns, limits and address rules."""
