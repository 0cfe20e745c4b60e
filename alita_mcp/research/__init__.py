"""Web agent: search, guarded fetching and extraction; results are data, never instructions."""
