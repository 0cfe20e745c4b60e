"""Static gate: checks a draft without running it."""
