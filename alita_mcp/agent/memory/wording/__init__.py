"""Analysis of a task's wording: literals, parameters, similarity and bindings."""
