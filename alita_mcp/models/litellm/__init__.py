"""Models through litellm: its calls, limits, failures and prices."""
