"""The properties gate: generated inputs, and what a tool must keep for each of them."""
