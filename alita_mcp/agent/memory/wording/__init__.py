"""Analysis of a task's wording: literals, parameters and similarity."""
