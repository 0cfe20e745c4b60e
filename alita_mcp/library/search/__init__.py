"""Search for tools, by words and by vectors, with calibrated probabilities."""
