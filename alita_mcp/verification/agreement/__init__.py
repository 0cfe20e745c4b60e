"""Agreement: which of several independently written candidates is right, from the pass matrix."""
